import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// Migrates a store's schema, or refuses the store without a change.
///
/// A store records the migrations that were applied, each with a checksum of its text. So a store
/// with other migrations than this program's is refused before anything is written.
package struct Migrator: Sendable {
  /// "LKST": SQLite's `application_id` of a Lockstep store, which the first migration sets.
  static let applicationID = 0x4C4B_5354

  let migrations: [Migration]
  let modules: [UserModule]

  /// `migrations` are numbered from 1. `modules` are those that the program has in code.
  package init(_ migrations: [Migration] = Migration.all, modules: [UserModule] = []) {
    self.migrations = migrations
    self.modules = modules
  }

  /// Applies missing migrations, then runs `body`, all in one transaction. `now` is in milliseconds
  /// since 1970.
  ///
  /// Throws `StoreError` if the store has other migrations than this program. Also throws
  /// `SQLiteError` and the errors of `body`.
  func migrate<Result>(_ connection: SQLiteConnection, now: Int64, then body: () throws -> Result) throws -> Result {
    // A migration may replace a table by a new one. While foreign keys are on, dropping the old table would delete
    // the rows of other tables that refer to it. SQLite ignores this statement within a transaction.
    try connection.execute("PRAGMA foreign_keys = OFF")
    defer { try? connection.execute("PRAGMA foreign_keys = ON") }
    return try connection.transaction {
      let missing = migrations.dropFirst(try isNew(connection) ? 0 : try countOfApplied(connection))
      if !missing.isEmpty { try CollectionViews(connection: connection).dropAll() }
      for migration in missing { try apply(migration, to: connection, now: now) }
      // In tests that apply only the first migrations, some tables do not exist.
      if try connection.has("modules") {
        try ModuleRecords(connection: .sqlite(connection), store: connection.path).add(modules, at: now)
      }
      if try connection.has("heads") { try CollectionViews(connection: connection).update() }
      return try body()
    }
  }

  /// Returns how many of the migrations were applied to a store. Changes nothing.
  ///
  /// Throws `StoreError` if the file is empty, is not a Lockstep store, or has other migrations
  /// than this program. Also throws `SQLiteError`.
  @discardableResult
  package func examine(_ connection: SQLiteConnection) throws -> Int {
    if try isNew(connection) { throw StoreError.emptyFile(path: connection.path) }
    return try countOfApplied(connection)
  }

  /// The names of the migrations that a store has applied.
  package func applied(in connection: SQLiteConnection) throws -> [String] {
    try migrations.prefix(examine(connection)).map(\.name)
  }

  package var last: Int { migrations.count }

  /// Whether the file is empty. Throws if it is the database of another program.
  private func isNew(_ connection: SQLiteConnection) throws -> Bool {
    let id = try connection.integer("PRAGMA application_id")
    if id == Self.applicationID { return false }
    let parts = try connection.integer("SELECT count(*) FROM sqlite_schema")
    guard id == 0, parts == 0, try connection.integer("PRAGMA user_version") == 0 else {
      throw StoreError.notAStore(path: connection.path)
    }
    return true
  }

  /// How many of the migrations were applied. Throws if the applied migrations are not the first
  /// ones of this program.
  private func countOfApplied(_ connection: SQLiteConnection) throws -> Int {
    let path = connection.path
    let version = try connection.integer("PRAGMA user_version")
    if version > migrations.count {
      throw StoreError.newerSchema(path: path, found: version, known: migrations.count)
    }
    guard try connection.has("migrations") else {
      throw StoreError.inconsistent(path: path, what: "it has no table of migrations")
    }
    let applied = try connection.all("SELECT number, name, checksum FROM migrations ORDER BY number") {
      try AppliedMigration($0)
    }
    try migrations.check(applied, path: path)
    guard version > 0, applied.map(\.number) == Array(1...version) else {
      let what = "its schema version is \(version), but its recorded migrations are \(applied.numbers)"
      throw StoreError.inconsistent(path: path, what: what)
    }
    try refuseOwnTables(connection)
    return version
  }

  /// Throws if a module has tables of its own, which earlier versions had.
  private func refuseOwnTables(_ connection: SQLiteConnection) throws {
    guard try connection.has("module_migrations", "table") else { return }
    let module = try connection.first("SELECT min(module) FROM module_migrations") { try $0[0] as String? } ?? nil
    if let module { throw StoreError.ownTables(path: connection.path, module: module) }
  }

  private func apply(_ migration: Migration, to connection: SQLiteConnection, now: Int64) throws {
    try connection.execute(migration.sql)
    try StoreConnection.sqlite(connection).record(migration, at: now)
    try connection.execute("PRAGMA user_version = \(migration.number)")
  }
}

/// A recorded migration of a store.
struct AppliedMigration {
  let number: Int
  let name: String
  let checksum: String

  init(number: Int, name: String, checksum: String) {
    (self.number, self.name, self.checksum) = (number, name, checksum)
  }

  init(_ row: borrowing SQLiteRow) throws {
    (number, name, checksum) = (try row[0], try row[1], try row[2])
  }
}

extension [AppliedMigration] {
  var numbers: String { isEmpty ? "none" : map { "\($0.number)" }.joined(separator: ", ") }
}

extension [Migration] {
  /// Throws if an applied migration has another text than this program's migration of the same number.
  /// The error depends on whether the names are equal.
  func check(_ applied: [AppliedMigration], path: String) throws(StoreError) {
    for (known, past) in zip(self, applied) where known.number == past.number {
      if checksum(of: known.sql) == past.checksum { continue }
      throw known.name == past.name
        ? .changedMigration(path: path, number: past.number, name: past.name)
        : .unknownMigration(path: path, number: past.number, name: past.name)
    }
  }
}

extension StoreConnection {
  /// Records that a migration was applied.
  func record(_ migration: Migration, at now: Int64) throws {
    try run(
      "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
      migration.number,
      migration.name,
      checksum(of: migration.sql),
      now
    )
  }
}

extension SQLiteConnection {
  /// Whether the schema has a part with this name, of any type or of the given one.
  func has(_ name: String, _ type: String? = nil) throws -> Bool {
    try first("SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type = coalesce(?2, type)", name, type) { _ in true }
      ?? false
  }

  /// The integer in a statement's only row; 0 if there is no row.
  func integer(_ sql: StaticString) throws -> Int {
    try first(sql) { row in try row[0] as Int } ?? 0
  }
}
