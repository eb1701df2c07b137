import LockstepSQLite

extension Migrator {
  /// How the schema of a store differs from the one that its migrations create, in words. Lockstep
  /// itself makes no such change, so a person or an attacker has. An added trigger could write data
  /// on its own. If a table is missing, requests fail.
  ///
  /// SQLite's automatic indexes and the tables of `ANALYZE` are not compared. Throws `StoreError`
  /// if the store has a module that this program does not have.
  package func schemaFaults(of connection: SQLiteConnection) throws -> [String] {
    let scratch = try SQLiteConnection.inMemory()
    let version = try examine(connection)
    for migration in migrations.prefix(version) { try scratch.execute(migration.sql) }
    let (made, found) = (try SchemaPart.all(of: scratch), try SchemaPart.all(of: connection))
    // The views of collections follow from these tables.
    for table in ["modules", "declared_collections"] where made[table] != found[table] {
      return ["the table \(table) is not as Lockstep creates it"]
    }
    if made["modules"] != nil {
      try ModuleRecords(connection: .sqlite(connection), store: connection.path).checked(modules)
    }
    guard made["heads"] != nil else { return SchemaPart.differences(between: made, and: found) }
    try CollectionViews(connection: scratch).create(CollectionViews(connection: connection).wanted(in: scratch))
    return SchemaPart.differences(between: try SchemaPart.all(of: scratch), and: found)
  }
}

/// A table, an index, a trigger or a view.
private struct SchemaPart: Equatable {
  let kind: String
  /// The SQL without double quotes, because SQLite adds them when it renames a table.
  let declaration: String

  /// All parts by their names.
  static func all(of connection: SQLiteConnection) throws -> [String: SchemaPart] {
    let rows = try connection.all(
      "SELECT name, type, replace(coalesce(sql, ''), '\"', '') FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'"
    ) { row in
      (try row[0] as String, SchemaPart(kind: try row[1], declaration: try row[2]))
    }
    return Dictionary(rows) { first, _ in first }
  }

  static func differences(between made: [String: SchemaPart], and found: [String: SchemaPart]) -> [String] {
    Set(made.keys).union(found.keys).sorted().compactMap { name in
      switch (made[name], found[name]) {
      case (let made?, nil): "the \(made.kind) \(name) is missing"
      case (nil, let found?): "the \(found.kind) \(name) is not one that Lockstep creates"
      case (let made?, let found?) where made != found: "the \(found.kind) \(name) is not as Lockstep creates it"
      default: nil
      }
    }
  }
}

extension SQLiteConnection {
  /// The faults of the store's id and of its token key, in words.
  package func identityFaults() throws -> [String] {
    var faults: [String] = []
    let stores = try integer("SELECT count(*) FROM store")
    if stores != 1 { faults.append("the table store has \(stores) rows, not one") }
    let sessions = try integer("SELECT count(*) FROM sessions")
    if try integer("SELECT count(*) FROM token_key") == 0, sessions > 0 {
      faults.append("the table token_key is empty: the server refuses the tokens of all \(sessions) sessions")
    }
    return faults
  }
}
