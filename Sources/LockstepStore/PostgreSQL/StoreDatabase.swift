import LockstepMigrations
import LockstepPostgreSQL
import LockstepThreading

/// A store in PostgreSQL that a command uses beside the nodes. Migrates nothing.
///
/// `@unchecked Sendable`: the session is used only while the lock is held.
package final class StoreDatabase: @unchecked Sendable {
  /// The database in messages.
  package let name: String
  /// How many of `knownSchema` migrations the database has applied; 0 if it is empty.
  package let schema: Int
  package var knownSchema: Int { migrations.count }
  var migrations: [Migration] { migrator.migrations }

  private let migrator: PostgreSQLMigrator
  private let connector: PostgreSQLConnector
  private let patience: Duration
  private let lock = LockedState(())
  private var session: PostgreSQLSession

  /// Connects, and tries for about `patience` while no server can be reached. Throws if the database is
  /// not one of Lockstep, has a newer schema, or is the target of an unfinished copy.
  package init(
    _ connectionString: String,
    patience: Duration = .seconds(30),
    migrator: Migrator = Migrator(),
    allowsUnfinishedCopy: Bool = false
  ) throws(StoreError) {
    do {
      connector = try PostgreSQLConnector(connectionString)
      self.patience = patience
      session = try connector.connect(.command, within: patience)
      name = PostgreSQLConnector.name(of: session.connection)
      var migrator = PostgreSQLMigrator(migrator)
      migrator.allowsUnfinishedCopy = allowsUnfinishedCopy
      self.migrator = migrator
      schema = try migrator.examine(session)
      // Each later connection must lead to the same store.
      let connection = StoreConnection.postgreSQL(session)
      if schema > 0, let id = try connection.storeID() { connector.setID(id) }
    } catch {
      throw StoreError(thrown: error)
    }
  }

  /// Runs `body`, which only reads, on one state of the database, and again if the connection is lost.
  /// One call runs at a time; `body` must not call another one.
  package func read<Result>(_ body: (StoreConnection) throws -> Result) throws -> Result {
    try withSession { session in
      do {
        return try session.snapshot { try body(.postgreSQL(session)) }
      } catch let error as PostgreSQLError where error.isLostConnection {
        session = try connector.connect(.command, within: patience)
        return try session.snapshot { try body(.postgreSQL(session)) }
      }
    }
  }

  /// Runs `body` in a transaction, and returns when it is committed.
  package func write<Result>(_ body: (StoreConnection) throws -> Result) throws -> Result {
    try withSession { session in
      try session.transaction {
        let result = try body(.postgreSQL(session))
        // A node that starts at this moment must know of the change.
        _ = try session.writeAnnouncement()
        return result
      }
    }
  }

  /// Applies missing migrations, and returns their names. Prepares an empty database for a new store. `now`
  /// is in milliseconds since 1970.
  package func migrate(at now: Int64) throws -> [String] {
    try withSession { session in
      var names: [String] = []
      let newID = DurableStore.identity(from: SystemRandomNumberGenerator())
      connector.setID(try migrator.migrate(session, newID: newID, now: now) { names.append($0.name) })
      return names
    }
  }

  /// Threads that read the store, each with its own connection.
  package func readers(threads: Int) throws -> StoreReaders {
    StoreReaders(try PostgreSQLReaders(connector, threads: threads))
  }

  /// A connection of its own for `lockstep copy`.
  func openCopySession() throws -> PostgreSQLSession { try connector.connect(.copy, within: patience) }

  /// Calls `body` with an open session, which it may replace.
  func withSession<Result>(_ body: (inout PostgreSQLSession) throws -> Result) throws -> Result {
    try lock.withLock { _ in
      if session.connection.isBroken { session = try connector.connect(.command, within: patience) }
      return try body(&session)
    }
  }
}

extension StoreConnection {
  /// The id of the store, of which cursors contain the beginning; nil if the table is empty.
  package func storeID() throws -> String? { try first("SELECT id FROM store") { try $0[0] as String } }

  /// Whether a node uses the store in PostgreSQL now. The server of a store in SQLite has its lock: see
  /// `StoreLock`.
  package func isServed() throws -> Bool {
    guard case .postgreSQL = self else { return false }
    return try !NodeRecords.live(in: self).isEmpty
  }
}
