import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// What a module needs of a store: that it's known there as what it is, and the steps of its own tables' schema.
public struct ModuleSchema: Sendable {
  let name: String
  let kind: CollectionMutation.Kind
  let migrations: [Migration]

  init(name: String, kind: CollectionMutation.Kind, migrations: [Migration]) {
    self.name = name
    self.kind = kind
    self.migrations = migrations
  }
}

/// Brings a store's modules up to date, within the transaction in which the product's own schema is.
///
/// A store that was ever served with a module is refused without it. Its clients' cursors, the journal and the snapshots tell of
/// that module's state: a server that doesn't know it would answer as if nothing had changed there, leave it out of exports,
/// and drop its past when the journal is pruned.
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
    // The product's own see to it by themselves.
    let outliving = try outlivingTables(connection).subtracting(before)
    if let table = outliving.min() { throw StoreError.outlivesUsers(path: connection.path, table: table) }
  }

  /// Applies in an empty database what the store's modules have been through.
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

  /// The modules that the store knows, with their kinds.
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
    ) { (number: try $0[0] as Int, name: try $0[1] as String, checksum: try $0[2] as String) }
    for (step, past) in zip(module.migrations, applied) where step.number == past.number {
      if checksum(of: step.sql) == past.checksum { continue }
      let name = "\(module.name)/\(past.name)"
      throw step.name == past.name
        ? StoreError.changedMigration(path: path, number: past.number, name: name)
        : StoreError.unknownMigration(path: path, number: past.number, name: name)
    }
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

  /// The tables that would keep something of an erased user.
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
