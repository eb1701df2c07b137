import LockstepPostgreSQL

/// The schema of a PostgreSQL database, as far as `lockstep check` compares it.
struct DatabaseSchema {
  private struct Part: Hashable {
    /// column, constraint, index, unique index, trigger, rule or view
    let kind: String
    let table: String
    let name: String
  }

  private let tables: Set<String>
  /// The kinds of views and foreign tables by their names, in words.
  private let others: [String: String]
  private let definitions: [Part: String]

  /// The schema in which the connection's tables are.
  static func present(in connection: StoreConnection) throws -> DatabaseSchema {
    try DatabaseSchema("SELECT current_schema()::regnamespace::oid::bigint", connection)
  }

  /// The schema with the temporary tables of the connection.
  static func temporary(in connection: StoreConnection) throws -> DatabaseSchema {
    try DatabaseSchema("SELECT pg_my_temp_schema()::bigint", connection)
  }

  private init(_ namespace: StoreSQL, _ connection: StoreConnection) throws {
    let id = try connection.first(namespace) { try $0[0] as Int } ?? 0
    tables = Set(
      try connection.all(
        "SELECT relname FROM pg_class WHERE relnamespace = ?::bigint::oid AND relkind IN ('r', 'p')",
        id
      ) { try $0[0] as String }
    )
    others = Dictionary(
      try connection.all(Self.otherRelations, id) { (try $0[0] as String, try $0[1] as String) }
    ) { first, _ in first }
    let rows = try connection.all(Self.parts, id) { row in
      (Part(kind: try row[0], table: try row[1], name: try row[2]), try row[3] as String)
    }
    definitions = Dictionary(rows) { first, _ in first }
  }

  /// The finding that a view or a foreign table has the name of a table; nil if none has it.
  private func replacement(of table: String) -> String? {
    others[table].map { "\(table) is a \($0) instead of a table" }
  }

  /// Which of these tables something else replaces, in words.
  func replacements(of tables: some Sequence<String>) -> [String] { tables.sorted().compactMap(replacement) }

  private static let otherRelations: StoreSQL = """
    SELECT relname::text, CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END
    FROM pg_class WHERE relnamespace = ?::bigint::oid AND relkind IN ('v', 'm', 'f')
    """

  /// How this schema differs from the one that Lockstep creates, in words. Additional tables, views and
  /// indexes are allowed: operators and extensions add some.
  func faults(comparedTo made: DatabaseSchema) -> [String] {
    let missing = made.tables.subtracting(tables).sorted()
    var faults = missing.map { replacement(of: $0) ?? "the table \($0) is missing" }
    let parts = Set(made.definitions.keys).union(definitions.keys)
      .filter { !missing.contains($0.table) }
      .sorted { ($0.table, $0.kind, $0.name) < ($1.table, $1.kind, $1.name) }
    for part in parts {
      let place = part.kind == "view" ? "" : " of the table \(part.table)"
      switch (made.definitions[part], definitions[part]) {
      case (_?, nil): faults.append("the \(part.kind) \(part.name)\(place) is missing")
      case (nil, _?):
        guard made.tables.contains(part.table), part.kind != "view", part.kind != "index" else { continue }
        faults.append("the \(part.kind) \(part.name)\(place) is not one that Lockstep creates")
      case (let made?, let found?) where made != found:
        faults.append("the \(part.kind) \(part.name)\(place) is not as Lockstep creates it")
      default: break
      }
    }
    return faults
  }

  /// The kind, the table, the name and the definition of each part of a schema. Definitions contain no
  /// names of schemas.
  private static let parts: StoreSQL = """
    WITH own AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = ?1::bigint::oid),
      prefix AS (SELECT quote_ident(nspname) || '.' AS text FROM pg_namespace WHERE oid = ?1::bigint::oid)
    SELECT 'column', o.relname::text, a.attname::text,
      format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || ' ' || a.attidentity::text || ' '
        || coalesce(l.collname::text, '') || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
    FROM own AS o JOIN pg_attribute AS a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
    WHERE o.relkind IN ('r', 'p')
    UNION ALL
    SELECT 'constraint', o.relname::text, c.conname::text, replace(replace(pg_get_constraintdef(c.oid), p.text, ''), 'pg_temp.', '')
    FROM own AS o JOIN pg_constraint AS c ON c.conrelid = o.oid CROSS JOIN prefix AS p
    UNION ALL
    SELECT CASE WHEN i.indisunique THEN 'unique index' ELSE 'index' END, t.relname::text, o.relname::text,
      replace(replace(pg_get_indexdef(i.indexrelid), p.text, ''), 'pg_temp.', '') || ' ' || i.indisvalid::text
    FROM own AS o JOIN pg_index AS i ON i.indexrelid = o.oid JOIN pg_class AS t ON t.oid = i.indrelid
      CROSS JOIN prefix AS p
    UNION ALL
    SELECT 'trigger', o.relname::text, t.tgname::text, replace(replace(pg_get_triggerdef(t.oid), p.text, ''), 'pg_temp.', '')
    FROM own AS o JOIN pg_trigger AS t ON t.tgrelid = o.oid AND NOT t.tgisinternal CROSS JOIN prefix AS p
    UNION ALL
    SELECT 'rule', o.relname::text, r.rulename::text, pg_get_ruledef(r.oid)
    FROM own AS o JOIN pg_rewrite AS r ON r.ev_class = o.oid WHERE o.relkind IN ('r', 'p')
    UNION ALL
    SELECT 'view', o.relname::text, o.relname::text, replace(replace(pg_get_viewdef(o.oid), p.text, ''), 'pg_temp.', '')
    FROM own AS o CROSS JOIN prefix AS p WHERE o.relkind = 'v'
    """
}

extension StoreDatabase {
  /// Which of Lockstep's tables something else replaces, in words. Needs no right but to connect.
  package func replacedTables() throws -> [String] {
    var names: Set<String> = []
    for line in migrations.flatMap({ $0.sql.split(separator: "\n") }) {
      let words = line.split { $0 == " " || $0 == ";" }
      guard let place = words.firstIndex(of: "TABLE"), place + 1 < words.count else { continue }
      let name = String(words[place + 1])
      if words[0] == "CREATE" { names.insert(name) }
      if words[0] == "DROP" { names.remove(name) }
    }
    return try read { try DatabaseSchema.present(in: $0).replacements(of: names) }
  }

  /// How the schema differs from the one that the migrations create, in words. Creates that one with
  /// temporary tables, in a transaction that is rolled back. Nil if the role may not create them.
  package func schemaFaults() throws -> [String]? {
    struct Finished: Error { let faults: [String] }
    do {
      try withSession { session in
        try session.transaction {
          let connection = StoreConnection.postgreSQL(session)
          let present = try DatabaseSchema.present(in: connection)
          try session.execute("SET LOCAL search_path = pg_temp")
          for migration in migrations {
            // A temporary table is never logged, and PostgreSQL refuses the word for it.
            try session.execute(migration.sql.replacing("CREATE UNLOGGED TABLE", with: "CREATE TABLE"))
          }
          throw Finished(faults: present.faults(comparedTo: try DatabaseSchema.temporary(in: connection)))
        }
      }
    } catch let finished as Finished {
      return finished.faults
    } catch let error as PostgreSQLError where error.kind == .insufficientPrivilege {
      return nil
    }
    return nil
  }
}
