import SQLite
import Workers

/// Where what is registered for everybody changes: all of it is in memory, and changes on the writer's thread.
final class RegisteredLedger: Sendable {
  private struct Contents: Sendable {
    var committed: RegisteredDefaults
    /// Decided and not on disk yet; what later units of the same group see.
    var pending: RegisteredDefaults?
  }

  private let contents: Monitor<Contents>
  private let writer: Writer
  private let now: @Sendable () -> Timestamp
  private let announce: @Sendable (RegisteredDefaults) -> Void

  /// - Parameters:
  ///   - registered: What the store has.
  ///   - writer: Who writes.
  ///   - now: The time.
  ///   - announce: Told of each committed change, on the writer's thread.
  init(
    _ registered: RegisteredDefaults,
    writer: Writer,
    now: @escaping @Sendable () -> Timestamp,
    announce: @escaping @Sendable (RegisteredDefaults) -> Void = { _ in }
  ) {
    contents = Monitor(Contents(committed: registered))
    self.writer = writer
    self.now = now
    self.announce = announce
  }

  /// What is registered, as it's on disk.
  var current: RegisteredDefaults { contents.withLock { $0.committed } }

  /// What is registered, for a unit of the writer that decides by it.
  var latest: RegisteredDefaults { contents.withLock { $0.pending ?? $0.committed } }

  /// Changes values of a suite, in one transaction.
  ///
  /// - Parameters:
  ///   - suite: Which suite.
  ///   - decide: Gives the new values of keys by what is registered, nil for a key that is taken back.
  /// - Returns: What is registered afterwards.
  /// - Throws: What `decide` throws, or why it couldn't be written.
  func change(
    _ suite: String,
    _ decide: @escaping @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)]
  ) async throws -> RegisteredDefaults {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try writer.submit({ try self.run(suite, decide, in: $0) }) { result in
          continuation.resume(with: self.settle(result))
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  private func run(
    _ suite: String,
    _ decide: (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)],
    in connection: Connection
  ) throws -> RegisteredDefaults {
    var registered = latest
    let present = registered.values(of: suite)
    let changes = try decide(registered).filter { present[ElementKey($0.key)]?.encoded != $0.value }
    let revision = registered.revision + 1
    for (key, value) in changes {
      let service = RegisteredService()
      try service.write(key, in: suite, value: value, revision: revision, at: now(), to: connection)
      registered.apply(key, in: suite, value: value, revision: revision)
    }
    let decided = registered
    contents.withLock { $0.pending = decided }
    return decided
  }

  private func settle(_ result: Result<RegisteredDefaults, any Error>) -> Result<RegisteredDefaults, any Error> {
    let hasChanged = contents.withLock { contents in
      // Whatever else was decided was settled before, or fails with this.
      contents.pending = nil
      guard case .success(let registered) = result, registered.revision > contents.committed.revision else {
        return false
      }
      contents.committed = registered
      return true
    }
    if hasChanged, case .success(let registered) = result { announce(registered) }
    return result
  }
}
