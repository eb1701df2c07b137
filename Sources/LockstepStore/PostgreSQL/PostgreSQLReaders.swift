import LockstepPostgreSQL
import LockstepSQLiteStore
import LockstepThreading

/// Threads that read the database, each with its own connection. Long reads have a thread of their own.
final class PostgreSQLReaders: Sendable {
  private struct Reader {
    let connector: PostgreSQLConnector
    let role: PostgreSQLConnector.Role
    var session: PostgreSQLSession?

    mutating func open() throws -> PostgreSQLSession {
      if let session, !session.connection.isBroken { return session }
      let new = try connector.connect(role)
      session = new
      return new
    }
  }

  private let short: ResourcePool<Reader>
  private let long: ResourcePool<Reader>
  private let monitor = LockedState<FailureMonitor?>(nil)

  init(_ connector: PostgreSQLConnector, threads: Int, capacity: Int = 4_096) throws(NamedThread.NotStarted) {
    short = try ResourcePool(name: "reader", threads: threads, capacity: capacity) {
      Reader(connector: connector, role: .reader)
    }
    long = try ResourcePool(name: "long-reader", threads: 1, capacity: capacity) {
      Reader(connector: connector, role: .longReader)
    }
  }

  var waiting: Int { short.waiting + long.waiting }

  /// Queues `body`. It runs on one snapshot, and again if the connection is lost.
  func submit<Value: Sendable>(
    length: ReaderPool.Length,
    _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try submit(length: length, retries: true, { session in try session.snapshot { try body(session) } }, completion)
  }

  /// Queues `body`, which opens its own snapshots. If `repeats` is true, it runs again if the connection is
  /// lost.
  func submitWithoutSnapshot<Value: Sendable>(
    repeats: Bool,
    _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws { try submit(length: .short, retries: repeats, body, completion) }

  private func submit<Value: Sendable>(
    length: ReaderPool.Length,
    retries: Bool,
    _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value,
    _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    let pool =
      switch length {
      case .short: short
      case .long: long
      }
    try pool.submit(
      { [monitor] reader in
        do {
          do {
            return try Self.noting(body(reader.open()), monitor)
          } catch let error as PostgreSQLError where retries && error.isLostConnection {
            return try Self.noting(body(reader.open()), monitor)
          }
        } catch let error as PostgreSQLError where error.isStoreFailure {
          monitor.withLock { $0?.noteFailure(error) }
          throw error
        }
      },
      completion: completion
    )
  }

  private static func noting<Value>(_ value: Value, _ monitor: LockedState<FailureMonitor?>) -> Value {
    monitor.withLock { $0?.noteSuccess() }
    return value
  }

  func onHealthChange(
    monotonic: @escaping @Sendable () -> Int64,
    _ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void
  ) {
    let monitor = FailureMonitor(work: .read, listener: LockedState(listener), monotonic: monotonic)
    self.monitor.withLock { $0 = monitor }
  }

  func shutDown() {
    short.shutDown()
    long.shutDown()
  }
}
