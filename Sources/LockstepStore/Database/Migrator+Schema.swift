import LockstepSQLite

extension Migrator {
  /// How the schema of an examined store differs from the schema that its migrations create, in sentences. A difference was
  /// made by hand or by an attacker: a trigger could write on its own, and a missing table makes requests fail.
  ///
  /// SQLite's automatic indexes and the tables of `ANALYZE` are not compared.
  ///
  /// - Throws: `StoreError` if the store has a module that is not here; `SQLiteError`.
  package func schemaFaults(of connection: SQLiteConnection) throws -> [String] {
    let scratch = try SQLiteConnection.inMemory()
    let version = try examine(connection)
    for migration in migrations.prefix(version) { try scratch.execute(migration.sql) }
    let (made, found) = (try SchemaPart.all(of: scratch), try SchemaPart.all(of: connection))
    guard made["modules"] == nil || found["modules"] == made["modules"] else {
      return ["the table modules isn't as lockstep makes it"]
    }
    if made["modules"] != nil { try ModuleMigrator(modules: modules).repeatApplied(of: connection, in: scratch) }
    return SchemaPart.differences(between: try SchemaPart.all(of: scratch), and: found)
  }
}

/// A table, an index, a trigger or a view.
private struct SchemaPart: Equatable {
  let kind: String
  /// The SQL without quotation marks, which SQLite puts around a renamed name.
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
      case (nil, let found?): "the \(found.kind) \(name) isn't one that lockstep makes"
      case (let made?, let found?) where made != found: "the \(found.kind) \(name) isn't as lockstep makes it"
      default: nil
      }
    }
  }
}

extension SQLiteConnection {
  /// The faults of the store's id and of its token key, in sentences.
  package func identityFaults() throws -> [String] {
    var faults: [String] = []
    let stores = try first("SELECT count(*) FROM store") { row in try row[0] as Int } ?? 0
    if stores != 1 { faults.append("the table store has \(stores) rows, not one") }
    let keys = try first("SELECT count(*) FROM token_key") { row in try row[0] as Int } ?? 0
    let sessions = try first("SELECT count(*) FROM sessions") { row in try row[0] as Int } ?? 0
    if keys == 0, sessions > 0 {
      faults.append("the table token_key is empty: none of the \(sessions) sessions' tokens is taken")
    }
    return faults
  }
}
