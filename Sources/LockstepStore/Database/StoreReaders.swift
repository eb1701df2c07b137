import LockstepPostgreSQL
import LockstepSQLite
import LockstepSQLiteStore
import LockstepThreading

/// The threads that read the store: see `ReaderPool` and `PostgreSQLReaders`.
package struct StoreReaders: Sendable {
  private enum Database: Sendable {
    case sqlite(ReaderPool)
    case postgreSQL(PostgreSQLReaders)
  }

  private let database: Database

  package init(_ pool: ReaderPool) {
    database = .sqlite(pool)
  }

  init(_ readers: PostgreSQLReaders) {
    database = .postgreSQL(readers)
  }

  /// How many reads wait to run.
  package var waiting: Int {
    switch database {
    case .sqlite(let pool): pool.waiting
    case .postgreSQL(let readers): readers.waiting
    }
  }

  /// Runs `body` on one of the threads, on one state of the store.
  nonisolated(nonsending) package func read<Value: Sendable>(
    length: ReaderPool.Length = .short,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    switch database {
    case .sqlite(let pool): try await pool.read(length: length) { try body(.sqlite($0)) }
    case .postgreSQL: try await withCompletion { try submit(length: length, body, completion: $0) }
    }
  }

  /// Queues `body` like `read`. `completion` is called once, on the reader thread.
  package func submit<Value: Sendable>(
    length: ReaderPool.Length = .short,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    switch database {
    case .sqlite(let pool): try pool.submit(length: length, { try body(.sqlite($0)) }, completion: completion)
    case .postgreSQL(let readers):
      try readers.submit(length: length, { try body(.postgreSQL($0)) }, completion: completion)
    }
  }

  /// Queues `body`, which opens its own snapshots (`StoreConnection.snapshot`), one after the other. If
  /// `repeats` is true, `body` may run again after a failure.
  package func submitWithoutSnapshot<Value: Sendable>(
    repeats: Bool = false,
    _ body: @escaping @Sendable (StoreConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    switch database {
    case .sqlite(let pool): try pool.submitWithoutSnapshot({ try body(.sqlite($0)) }, completion: completion)
    case .postgreSQL(let readers):
      try readers.submitWithoutSnapshot(repeats: repeats, { try body(.postgreSQL($0)) }, completion: completion)
    }
  }

  /// Sets the listener for failures of the store.
  package func onHealthChange(
    monotonic: @escaping @Sendable () -> Int64,
    _ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void
  ) {
    switch database {
    case .sqlite(let pool): pool.onHealthChange(monotonic: monotonic, listener)
    case .postgreSQL(let readers): readers.onHealthChange(monotonic: monotonic, listener)
    }
  }

  /// See `ReaderPool.shutDown`.
  package func shutDown() {
    switch database {
    case .sqlite(let pool): pool.shutDown()
    case .postgreSQL(let readers): readers.shutDown()
    }
  }
}

extension StoreReaders {
  /// Whether an error of a read concerns the store or its threads, and not only what was read.
  package static let isFailure: @Sendable (any Error) -> Bool = { error in
    switch error {
    case let error as SQLiteError: error.isStoreFailure
    case let error as PostgreSQLError: error.isStoreFailure || error.isLostConnection
    case is StoreError, is PoolShutDownError, is PoolOverloadedError: true
    default: false
    }
  }
}
