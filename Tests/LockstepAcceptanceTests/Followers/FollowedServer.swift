import Glibc
import LockstepJSON
import LockstepThreading
import LockstepTestSupport
import Testing

/// The store, the server that runs on it at present, and what the followers share.
final class FollowedServer: Sendable {
  /// How many of a user's last revisions the server keeps. A run is long enough that some cursors
  /// become older than that, so resets happen too. A second after each start, the server prunes all
  /// others, so the cursor of the revision before the kept ones is unknown.
  static let keptRevisions = 100

  /// The numbers that a run prints.
  struct Counts: Sendable {
    var writes = 0
    var refusals = 0
    var polls = 0
    var events = 0
    var changesets = 0
    var moves = 0
    var disconnections = 0
    var returns = 0
    var resets = 0
    var checks = 0
  }

  private struct Contents: Sendable {
    var counts = Counts()
    /// The bytes of each representation, by ETag.
    var representations: [String: [UInt8]] = [:]
    /// The latest cursor of each follower.
    var reached: [Int: String] = [:]
    var isEnding = false
    var starts = 0
  }

  private let folder: TemporaryDirectory
  private let contents = LockedState(Contents())

  init(folder: TemporaryDirectory) {
    self.folder = folder
  }

  var counts: Counts { contents.withLock { $0.counts } }

  /// Whether the server is shutting down or about to: connections may break, and waits may end
  /// early.
  var isEnding: Bool { contents.withLock { $0.isEnding } }

  func count(_ change: (inout Counts) -> Void) { contents.withLock { change(&$0.counts) } }

  func note(_ cursor: String, of follower: Int) { contents.withLock { $0.reached[follower] = cursor } }

  func hasReached(_ cursor: String, _ follower: Int) -> Bool { contents.withLock { $0.reached[follower] == cursor } }

  /// Checks that the same ETag means the same bytes, across all restarts.
  func check(_ body: [UInt8], behind tag: String, at place: String) throws {
    let known = contents.withLock { contents in
      defer { contents.representations["\(place) \(tag)"] = body }
      return contents.representations["\(place) \(tag)"]
    }
    guard known == nil || known == body else {
      throw FollowedCopy.Fault(description: "\(place): different bytes with the same ETag \(tag)")
    }
  }

  // MARK: Starting and stopping

  func start(threads: Int) async throws -> (process: LockstepProcess, port: Int) {
    let number = contents.withLock { contents in
      contents.isEnding = false
      contents.starts += 1
      return contents.starts
    }
    let options = [
      "--threads", "\(threads)", "--log-level", "error", "--admin-token", FollowedWriter.administrator,
      "--history-days", "0", "--history-min", "\(Self.keptRevisions)",
      // So long that no wait times out during the test.
      "--max-wait", "3600",
    ]
    return try await LockstepProcess.serving(options, in: folder, name: "run-\(number)")
  }

  /// Kills the server, whatever it is doing.
  func kill(_ process: LockstepProcess) async {
    contents.withLock { $0.isEnding = true }
    process.send(SIGKILL)
    #expect(await process.ended() == .signal(SIGKILL))
  }

  /// Shuts the server down while clients wait.
  func drain(_ process: LockstepProcess) async {
    contents.withLock { $0.isEnding = true }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0), "\(process.errors)")
  }

  /// Signs a user up and returns the token.
  static func signUp(_ name: String, at port: Int) async throws -> String {
    let client = try RawClient(port: port)
    let body = #"{"email":"\#(name)@example.com","password":"a good password"}"#
    try await client.send("POST /v1/users HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    return try #require(try JSON(parsing: try await client.response().body)["token"]?.stringValue)
  }
}
