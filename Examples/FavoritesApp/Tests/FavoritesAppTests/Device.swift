import LockstepClient
import LockstepClientTesting
import Testing

@testable import FavoritesTerminal

/// A device with the program for the terminal, and a server in memory.
@MainActor
final class Device {
  private(set) var lines: [String] = []
  private var waiting: CheckedContinuation<Void, Never>?
  private var terminal: Terminal?

  init(_ server: FakeServer, token: String? = "token") throws {
    let client = try LockstepClient(store: .memory, transport: server, credentials: MemoryCredentials(token))
    terminal = Terminal(client) { [weak self] in self?.note($0) }
    terminal?.start()
  }

  private func note(_ line: String) {
    lines.append(line)
    waiting?.resume()
    waiting = nil
  }

  /// Performs commands, and returns the lines of the last one.
  @discardableResult
  func perform(_ commands: String...) async -> [String] {
    var before = lines.count
    for command in commands {
      before = lines.count
      _ = await terminal?.perform(command)
    }
    return lines.dropFirst(before).filter { !$0.hasPrefix("* ") }
  }

  /// Waits until the program has printed a line, and forgets all lines up to it.
  func expect(_ line: String) async {
    while true {
      if let index = lines.firstIndex(of: line) {
        lines.removeFirst(index + 1)
        return
      }
      await withCheckedContinuation { waiting = $0 }
    }
  }

  func stop() async { await terminal?.stop() }
}
