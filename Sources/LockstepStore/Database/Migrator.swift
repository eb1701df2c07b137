import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// Brings a store's schema up to date, or says why it can't.
///
/// A store remembers the migrations it has been through, each with a checksum of its text, so that a store and a program
/// that don't belong together are told apart before anything is written. What is refused is left as it was.
public struct Migrator: Sendable {
  /// "LKST": SQLite's `application_id` of a Lockstep store, which the first migration sets.
  public static let applicationID = 0x4C4B_5354

  let migrations: [Migration]
  let modules: [ModuleSchema]

  /// A migrator to the last of these steps, which are numbered 1, 2, 3 and so on, and to the last of each module's own.
  public init(_ migrations: [Migration] = Migration.all, modules: [ModuleSchema] = []) {
    self.migrations = migrations
    self.modules = modules
  }

  /// A migrator to the last of the product's steps, and to the last of these modules' own.
  package init(of modules: [UserModule]) {
    self.init(modules: modules.map { ModuleSchema(name: $0.name, kind: $0.kind, migrations: $0.table.migrations) })
  }

  /// Applies what is missing, then runs `body`, all in one transaction: after an error the file is as it was.
  ///
  /// - Parameters:
  ///   - connection: A connection that may write, with no transaction open.
  ///   - now: The time to write beside what is applied, in milliseconds since 1970.
  ///   - body: What else belongs to a store that is up to date.
  /// - Returns: what `body` returns.
  /// - Throws: `StoreError` where the store and these migrations don't belong together, `SQLiteError` where SQLite fails,
  ///   and what `body` throws.
  public func migrate<Result>(
    _ connection: SQLiteConnection,
    now: Int64,
    then body: () throws -> Result = {}
  ) throws -> Result {
    try connection.transaction {
      let applied = try isNew(connection) ? 0 : try countOfApplied(connection)
      for migration in migrations.dropFirst(applied) { try apply(migration, to: connection, now: now) }
      // Steps that end before modules came have no table of them.
      if try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'modules'") == 1 {
        try ModuleMigrator(modules: modules).migrate(connection, now: now)
      }
      return try body()
    }
  }

  /// Looks whether a file is a store that these migrations know, and changes nothing.
  ///
  /// - Returns: how many of the migrations it has been through.
  /// - Throws: `StoreError` where it's empty, none of ours, or has been through others; `SQLiteError` where SQLite fails.
  @discardableResult
  public func examine(_ connection: SQLiteConnection) throws -> Int {
    if try isNew(connection) { throw StoreError.notAStore(path: connection.path) }
    return try countOfApplied(connection)
  }

  /// The number of the last migration.
  package var last: Int { migrations.count }

  /// Whether there is nothing in the file. Throws when there is, and it isn't ours.
  private func isNew(_ connection: SQLiteConnection) throws -> Bool {
    let id = try connection.integer("PRAGMA application_id")
    if id == Self.applicationID { return false }
    let isEmpty =
      try connection.integer("SELECT count(*) FROM sqlite_schema") == 0
      && connection.integer("PRAGMA user_version") == 0
    guard id == 0, isEmpty else { throw StoreError.notAStore(path: connection.path) }
    return true
  }

  /// How many of the migrations the store has been through. Throws where its past isn't the beginning of ours.
  private func countOfApplied(_ connection: SQLiteConnection) throws -> Int {
    let path = connection.path
    let version = try connection.integer("PRAGMA user_version")
    if version > migrations.count {
      throw StoreError.newerSchema(path: path, found: version, known: migrations.count)
    }
    guard try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'") == 1 else {
      throw StoreError.inconsistent(path: path, what: "it has no table of migrations")
    }
    let applied = try connection.all("SELECT number, name, checksum FROM migrations ORDER BY number") { row in
      Applied(number: try row[0], name: try row[1], checksum: try row[2])
    }
    for (known, past) in zip(migrations, applied) where known.number == past.number {
      if checksum(of: known.sql) == past.checksum { continue }
      if known.name != past.name {
        throw StoreError.unknownMigration(path: path, number: past.number, name: past.name)
      }
      throw StoreError.changedMigration(path: path, number: past.number, name: past.name)
    }
    guard version > 0, applied.map(\.number) == Array(1...version) else {
      let numbers = applied.map { "\($0.number)" }.joined(separator: ", ")
      throw StoreError.inconsistent(
        path: path,
        what: "its schema is \(version), and its migrations are \(numbers.isEmpty ? "none" : numbers)"
      )
    }
    return version
  }

  private func apply(_ migration: Migration, to connection: SQLiteConnection, now: Int64) throws {
    try connection.execute(migration.sql)
    try connection.run(
      "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
      migration.number,
      migration.name,
      checksum(of: migration.sql),
      now
    )
    try connection.execute("PRAGMA user_version = \(migration.number)")
  }

  private struct Applied {
    let number: Int
    let name: String
    let checksum: String
  }
}

extension SQLiteConnection {
  /// The only value of a statement that always gives one.
  fileprivate func integer(_ sql: StaticString) throws -> Int {
    try first(sql) { row in try row[0] as Int } ?? 0
  }
}
