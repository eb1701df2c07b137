import LockstepSQLiteStore
import LockstepThreading
import LockstepTime

/// The two writers of a store in PostgreSQL: one for units, one for decided transactions.
package final class PostgreSQLWriters: Sendable {
  private let connector: PostgreSQLConnector
  private let units: PostgreSQLUnits
  private let group = LockedState<PostgreSQLGroupCommit?>(nil)
  private let healthListener = FailureMonitor.Listener(nil)
  private let feed: CommitFeed
  private let time: TimeSource
  private let flag: StateEventFlag

  init(_ connector: PostgreSQLConnector, feed: CommitFeed, flag: StateEventFlag, time: TimeSource) throws {
    self.flag = flag
    (self.connector, self.feed, self.time) = (connector, feed, time)
    units = try PostgreSQLUnits(connector, feed: feed)
  }

  package func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws { try units.submit(unit, completion: completion) }

  /// Starts the thread that commits decided transactions. Call this once.
  func startGroupCommit(of tables: ModuleTables) throws -> PostgreSQLGroupCommit {
    let monitor = FailureMonitor(work: .commit, listener: healthListener, monotonic: time.monotonic)
    let new = try PostgreSQLGroupCommit(
      connector: connector,
      tables: tables,
      feed: feed,
      flag: flag,
      monitor: monitor,
      monotonic: time.monotonic
    )
    group.withLock { $0 = new }
    return new
  }

  /// Returns when `unit` was committed by the writer of units, and when groups can be committed, if their
  /// thread was started.
  nonisolated(nonsending) func check(_ unit: @escaping @Sendable (StoreConnection) throws -> Void) async throws {
    try await withCompletion { try units.submit(unit, completion: $0) }
    try await group.withLock { $0 }?.check(unit)
  }

  var statistics: DatabaseWriter.Statistics {
    let group = group.withLock { $0 }
    var statistics = group?.statistics.withLock { $0 } ?? DatabaseWriter.Statistics()
    statistics.setWaiting((group?.waiting ?? 0) + units.waiting)
    return statistics
  }

  func onHealthChange(_ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void) {
    healthListener.withLock { $0 = listener }
  }

  func shutDown() {
    group.withLock { $0 }?.shutDown()
    units.shutDown()
  }
}
