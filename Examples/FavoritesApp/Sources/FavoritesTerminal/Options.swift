import Foundation
import LockstepClient

/// The options of the program.
struct Options {
  static let help = """
    Usage: FavoritesTerminal [options]

    Favorites in a terminal. Reads commands from standard input, and prints what changes on any device. Type help
    for the commands.

    Options
      --server URL    the server (default: http://127.0.0.1:8080)
      --store FOLDER  where this device keeps its copy, its changes and its token (default: favorites)
      --events        follow the server by a stream of events instead of polls
      --help          print this text
    """

  var server = "http://127.0.0.1:8080"
  var store = "favorites"
  var following = Following.polls
  var isHelp = false

  init(_ arguments: ArraySlice<String>) throws {
    var rest = arguments
    func value(_ option: String) throws -> String {
      guard let value = rest.popFirst() else { throw ClientFailure("\(option) needs a value.") }
      return value
    }
    while let option = rest.popFirst() {
      switch option {
      case "--server": server = try value(option)
      case "--store": store = try value(option)
      case "--events": following = .events
      case "--help": isHelp = true
      default: throw ClientFailure("There is no option \(option). See --help.")
      }
    }
  }

  /// A client with these options.
  func client() throws -> LockstepClient {
    guard let url = URL(string: server) else { throw ClientFailure("\(server) is not a URL.") }
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
    return try LockstepClient(
      url,
      store: .file("\(store)/state.db"),
      credentials: FileCredentials("\(store)/token"),
      following: following
    )
  }
}
