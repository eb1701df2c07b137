import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// The name and kind of a module, and the migrations of its own tables.
package struct ModuleSchema: Sendable {
  let name: String
  let kind: CollectionMutation.Kind
  let migrations: [Migration]
}

/// Migrates the tables of modules, in the transaction of the product's own migrations.
///
/// A server refuses a store if an earlier server used it with a module that this server does not
/// have.
/// Cursors, journal and snapshots contain the module's state. A server without the module would
/// omit its changes from responses and its state from exports. It would lose the module's history
/// when it pruned the journal.
struct ModuleMigrator {
  let modules: [ModuleSchema]

  func migrate(_ connection: SQLiteConnection, now: Int64) throws {
    let known = try known(to: connection)
    for (module, kind) in known where module.kind.rawValue != kind {
      throw StoreError.otherKindOfModule(path: connection.path, module: module.name, kind: kind)
    }
    let names = Set(known.map(\.module.name))
    let before = try outlivingTables(connection)
    for module in modules {
      if !names.contains(module.name) {
        let kind = module.kind.rawValue
        try connection.run("INSERT INTO modules (name, kind, added_at) VALUES (?, ?, ?)", module.name, kind, now)
      }
      for migration in module.migrations.dropFirst(try countOfApplied(module, connection)) {
        try apply(migration, of: module, to: connection, now: now)
      }
    }
    // Checks only tables that modules have added, because tests check the product's own tables.
    let outliving = try outlivingTables(connection).subtracting(before)
    if let table = outliving.min() { throw StoreError.outlivesUsers(path: connection.path, table: table) }
  }

  /// Applies to `scratch`, an empty database, all module migrations that the store has applied.
  func repeatApplied(of connection: SQLiteConnection, in scratch: SQLiteConnection) throws {
    for (module, _) in try known(to: connection) {
      for migration in module.migrations.prefix(try countOfApplied(module, connection)) {
        try scratch.execute(migration.sql)
      }
    }
  }

  /// The modules that the store has recorded, with the recorded kinds. Throws if this program does
  /// not have one of them.
  private func known(to connection: SQLiteConnection) throws -> [(module: ModuleSchema, kind: String)] {
    try connection.all("SELECT name, kind FROM modules ORDER BY name") { row in
      let name: String = try row[0]
      guard let module = modules.first(where: { $0.name == name }) else {
        throw StoreError.missingModule(path: connection.path, module: name)
      }
      return (module, try row[1])
    }
  }

  private func countOfApplied(_ module: ModuleSchema, _ connection: SQLiteConnection) throws -> Int {
    let (path, name, known) = (connection.path, module.name, module.migrations.count)
    let applied = try connection.all(
      "SELECT number, name, checksum FROM module_migrations WHERE module = ? ORDER BY number",
      name
    ) { try AppliedMigration($0) }
    try module.migrations.check(applied, path: path, module: name)
    guard applied.count <= known else {
      throw StoreError.newerSchema(path: path, module: name, found: applied.count, known: known)
    }
    guard applied.map(\.number) == Array(1..<(applied.count + 1)) else {
      let what = "the recorded migrations of its module \(name) are \(applied.numbers), and one before them is missing"
      throw StoreError.inconsistent(path: path, what: what)
    }
    return applied.count
  }

  private func apply(
    _ migration: Migration,
    of module: ModuleSchema,
    to connection: SQLiteConnection,
    now: Int64
  ) throws {
    try connection.execute(migration.sql)
    try connection.run(
      "INSERT INTO module_migrations (module, number, name, checksum, applied_at) VALUES (?, ?, ?, ?, ?)",
      module.name,
      migration.number,
      migration.name,
      checksum(of: migration.sql),
      now
    )
  }

  /// The tables with a column `user_id` that would keep rows of an erased user.
  private func outlivingTables(_ connection: SQLiteConnection) throws -> Set<String> {
    let tables = try connection.all(
      """
      SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c ON c.name = 'user_id'
      WHERE t.type = 'table' AND NOT EXISTS (
        SELECT 1 FROM pragma_foreign_key_list(t.name) k
        WHERE k."table" = 'users' AND k."from" = 'user_id' AND k.on_delete = 'CASCADE'
      )
      """
    ) { try $0[0] as String }
    return Set(tables)
  }
}
