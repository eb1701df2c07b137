import LockstepSQLiteStore
import LockstepThreading

/// Runs units that write the store: see `DatabaseWriter` and `PostgreSQLUnits`.
package struct StoreWriter: Sendable {
  package enum Database: Sendable {
    case sqlite(DatabaseWriter)
    case postgreSQL(PostgreSQLWriters)
  }

  package let database: Database
  /// Whether commits of states are events of webhooks.
  package let stateEventFlag: StateEventFlag

  package init(_ writer: DatabaseWriter, _ flag: StateEventFlag = StateEventFlag(isSubscribed: false)) {
    database = .sqlite(writer)
    stateEventFlag = flag
  }

  init(_ writers: PostgreSQLWriters, _ flag: StateEventFlag) {
    database = .postgreSQL(writers)
    stateEventFlag = flag
  }

  /// Queues a unit: see `DatabaseWriter.submit`.
  @inlinable
  package func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value,
    of owner: WriteOwner? = nil,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    switch database {
    case .sqlite(let writer): try writer.submit({ try unit(.sqlite($0)) }, of: owner, completion: completion)
    case .postgreSQL(let writers): try writers.submit(unit, completion: completion)
    }
  }

  /// Runs a unit and returns its value when its changes are on disk: see `DatabaseWriter.write`.
  @inlinable
  nonisolated(nonsending) package func write<Value: Sendable>(
    of owner: WriteOwner? = nil,
    _ unit: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws -> Value {
    try await withCompletion { try submit(unit, of: owner, completion: $0) }
  }

  /// The writer of decided transactions. Call this once.
  package func writeSetWriter(of tables: ModuleTables) throws -> WriteSetWriter {
    switch database {
    case .sqlite(let writer): WriteSetWriter(.sqlite(writer), tables: tables, stateEventFlag)
    case .postgreSQL(let writers):
      WriteSetWriter(.postgreSQL(try writers.startGroupCommit(of: tables)), tables: tables, stateEventFlag)
    }
  }

  /// Returns when `unit` is on disk, and when decided transactions can be written too. In PostgreSQL they have a
  /// connection of their own, and `unit` may run twice.
  nonisolated(nonsending) func check(_ unit: @escaping @Sendable (StoreConnection) throws -> Void) async throws {
    switch database {
    case .sqlite: try await write(unit)
    case .postgreSQL(let writers): try await writers.check(unit)
    }
  }

  package var statistics: DatabaseWriter.Statistics {
    switch database {
    case .sqlite(let writer): writer.statistics
    case .postgreSQL(let writers): writers.statistics
    }
  }

  /// Sets the listener for failures of the store.
  package func onHealthChange(_ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void) {
    switch database {
    case .sqlite(let writer): writer.onHealthChange(listener)
    case .postgreSQL(let writers): writers.onHealthChange(listener)
    }
  }

  /// See `DatabaseWriter.shutDown`.
  package func shutDown() {
    switch database {
    case .sqlite(let writer): writer.shutDown()
    case .postgreSQL(let writers): writers.shutDown()
    }
  }
}
