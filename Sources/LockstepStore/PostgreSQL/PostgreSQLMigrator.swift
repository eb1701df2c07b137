import LockstepCollections
import LockstepMigrations
import LockstepPostgreSQL

/// Migrates the schema of a store in PostgreSQL, or refuses the database without a change.
struct PostgreSQLMigrator {
  let migrations: [Migration]
  let modules: [UserModule]
  /// Whether the store may be the target of a copy that is not finished.
  var allowsUnfinishedCopy = false

  init(_ migrator: Migrator, migrations: [Migration] = Migration.postgreSQL) {
    self.migrations = migrations
    modules = migrator.modules
  }

  /// Applies missing migrations, and returns the store's id. One node at a time does so: the others
  /// wait. `now` is in milliseconds since 1970. `applied` gets each migration that was missing.
  func migrate(
    _ session: PostgreSQLSession,
    newID: String,
    now: Int64,
    applied record: (Migration) -> Void = { _ in }
  ) throws -> String {
    let connection = StoreConnection.postgreSQL(session)
    let name = PostgreSQLConnector.name(of: session.connection)
    let deadline = ContinuousClock.now + Self.patience
    while true {
      do {
        var missing: [Migration] = []
        let id = try session.transaction {
          try connection.lock(Array("lockstep migrations".utf8))
          let applied = try applied(in: connection, name)
          missing = Array(migrations.dropFirst(applied.count))
          return try apply(missing, session, name, newID: newID, now: now)
        }
        for migration in missing { record(migration) }
        return id
      } catch let error as PostgreSQLError where error.kind == .lockTimeout && ContinuousClock.now < deadline {
        PostgreSQLConnector.pause(for: Self.retryInterval)
      }
    }
  }

  /// For how long a node tries to migrate while other transactions use the tables.
  private static let patience = Duration.seconds(600)
  private static let retryInterval = Duration.seconds(2)

  private func apply(
    _ missing: [Migration],
    _ session: PostgreSQLSession,
    _ name: String,
    newID: String,
    now: Int64
  ) throws -> String {
    let connection = StoreConnection.postgreSQL(session)
    // While a statement waits for a lock, the writes of other nodes wait behind it. A long reader such as
    // pg_dump must not stop them.
    if !missing.isEmpty {
      try session.execute("SET LOCAL lock_timeout = '200ms'")
      try checkCanCreate(connection, name)
    }
    for migration in missing {
      try session.execute(migration.sql)
      try connection.record(migration, at: now)
    }
    try checkRights(connection, name)
    try ModuleRecords(connection: connection, store: name).add(modules, at: now)
    if let id = try connection.storeID() { return id }
    try connection.run("INSERT INTO store (only_row, id, created_at) VALUES (1, ?, ?)", newID, now)
    return newID
  }

  /// How many of the migrations the database has applied; 0 if it is empty. Changes nothing. Throws if the
  /// database has others.
  func examine(_ session: PostgreSQLSession) throws -> Int {
    try applied(in: .postgreSQL(session), PostgreSQLConnector.name(of: session.connection)).count
  }

  /// The migrations that the database has applied; none if it is empty.
  private func applied(in connection: StoreConnection, _ name: String) throws -> [AppliedMigration] {
    guard try connection.first("SELECT current_schema() IS NULL", transform: { try $0[0] as Bool }) == false else {
      throw StoreError.unusableDatabase(
        name: name,
        what: "its search_path names no schema that exists and that the role may use",
        advice: "Create the schema, grant USAGE on it, or correct the search_path. Nothing was changed."
      )
    }
    let tables = try connection.first(
      """
      SELECT count(*), count(*) FILTER (
        WHERE relname = 'migrations' AND starts_with(obj_description(oid, 'pg_class'), 'Lockstep')
      ), count(*) FILTER (WHERE relname = 'unfinished_copy')
      FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
      """
    ) { row in (all: try row[0] as Int, ours: try row[1] as Int, marks: try row[2] as Int) }
    guard let tables, tables.all > 0 else { return [] }
    guard tables.ours == 1 else {
      throw StoreError.unusableDatabase(
        name: name,
        what: "it has the tables of another program",
        advice: "Create a database for Lockstep alone, or name another one. Nothing was changed."
      )
    }
    if tables.marks > 0, !allowsUnfinishedCopy {
      throw StoreError.unusableDatabase(
        name: name,
        what: "it contains an unfinished copy of another store",
        advice: "Run lockstep copy again with the same source. Or empty the database, and begin again."
      )
    }
    let applied = try connection.all("SELECT number, name, checksum FROM migrations ORDER BY number") { row in
      AppliedMigration(number: try row[0], name: try row[1], checksum: try row[2])
    }
    if applied.count > migrations.count {
      throw StoreError.unusableDatabase(
        name: name,
        what: "it has schema \(applied.count), and this lockstep knows schemas up to \(migrations.count)",
        advice: "A newer lockstep has migrated it. Run that version. Nothing was changed."
      )
    }
    try migrations.check(applied, path: name)
    guard applied.map(\.number) == Array(1..<(applied.count + 1)) else {
      throw StoreError.inconsistent(path: name, what: "its recorded migrations are \(applied.numbers)")
    }
    return applied
  }

  /// Throws if the role may not create tables.
  private func checkCanCreate(_ connection: StoreConnection, _ name: String) throws {
    let missing = try connection.first(
      """
      SELECT current_user::text, current_schema()::text WHERE NOT has_schema_privilege(current_schema(), 'CREATE')
      """
    ) { (role: try $0[0] as String, schema: try $0[1] as String) }
    guard let missing else { return }
    throw StoreError.cannotCreateTables(name: name, role: missing.role, schema: missing.schema)
  }

  /// Throws if the role may not read or change one of the tables.
  private func checkRights(_ connection: StoreConnection, _ name: String) throws {
    let missing = try connection.first(
      """
      SELECT current_user::text, relname::text FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT (
        has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
      ) ORDER BY relname
      """
    ) { (role: try $0[0] as String, table: try $0[1] as String) }
    if let missing { throw StoreError.missingRight(name: name, role: missing.role, table: missing.table) }
  }
}
