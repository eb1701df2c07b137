import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// The name and kind of a module, and the migrations of its own tables.
public struct ModuleSchema: Sendable {
  let name: String
  let kind: CollectionMutation.Kind
  let migrations: [Migration]
}

/// Migrates the tables of modules, in the transaction of the product's own migrations.
///
/// A store that was ever served with a module is refused without it. Cursors, journal and snapshots contain the module's state.
/// A server without the module would respond as if nothing had changed there, omit it in exports, and lose its history when the
/// journal is pruned.
struct ModuleMigrator {
  let modules: [ModuleSchema]

  func migrate(_ connection: SQLiteConnection, now: Int64) throws {
    let known = try known(to: connection)
    for (name, kind) in known {
      guard let module = modules.first(where: { $0.name == name }) else {
        throw StoreError.missingModule(path: connection.path, module: name)
      }
      guard module.kind.rawValue == kind else {
        throw StoreError.otherKindOfModule(path: connection.path, module: name, kind: kind)
      }
    }
    let before = try outlivingTables(connection)
    for module in modules {
      if known[module.name] == nil { try add(module, to: connection, now: now) }
      for migration in module.migrations.dropFirst(try countOfApplied(module, connection)) {
        try apply(migration, of: module, to: connection, now: now)
      }
    }
    // Only tables that modules have added: the product's own tables are tested.
    let outliving = try outlivingTables(connection).subtracting(before)
    if let table = outliving.min() { throw StoreError.outlivesUsers(path: connection.path, table: table) }
  }

  /// Applies the applied migrations of the store's modules to an empty database.
  func repeatApplied(of connection: SQLiteConnection, in scratch: SQLiteConnection) throws {
    for (name, _) in try known(to: connection) {
      guard let module = modules.first(where: { $0.name == name }) else {
        throw StoreError.missingModule(path: connection.path, module: name)
      }
      for migration in module.migrations.prefix(try countOfApplied(module, connection)) {
        try scratch.execute(migration.sql)
      }
    }
  }

  /// The modules in the store with their kinds.
  private func known(to connection: SQLiteConnection) throws -> [String: String] {
    let rows = try connection.all("SELECT name, kind FROM modules") { (try $0[0] as String, try $0[1] as String) }
    return Dictionary(rows) { _, last in last }
  }

  private func add(_ module: ModuleSchema, to connection: SQLiteConnection, now: Int64) throws {
    try connection.run(
      "INSERT INTO modules (name, kind, added_at) VALUES (?, ?, ?)",
      module.name,
      module.kind.rawValue,
      now
    )
  }

  private func countOfApplied(_ module: ModuleSchema, _ connection: SQLiteConnection) throws -> Int {
    let path = connection.path
    let applied = try connection.all(
      "SELECT number, name, checksum FROM module_migrations WHERE module = ? ORDER BY number",
      module.name
    ) { AppliedMigration(number: try $0[0], name: try $0[1], checksum: try $0[2]) }
    try module.migrations.check(applied, path: path, module: module.name)
    guard applied.count <= module.migrations.count else {
      throw StoreError.newerModule(
        path: path,
        module: module.name,
        found: applied.count,
        known: module.migrations.count
      )
    }
    guard applied.map(\.number) == Array(1..<(applied.count + 1)) else {
      let numbers = applied.map { "\($0.number)" }.joined(separator: ", ")
      throw StoreError.inconsistent(path: path, what: "the migrations of its module \(module.name) are \(numbers)")
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

  /// The tables that would keep rows of an erased user.
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
