import LockstepSQLite

/// Views for people who read a store in SQLite with SQL: one for each module in code and for each declared
/// collection, with its name. The server reads none of them.
///
/// They follow from the tables `modules` and `declared_collections`. So a check knows which ones a store has.
struct CollectionViews {
  /// The first collections in the order of their names have a view. Each connection reads all of them with the
  /// schema.
  static let limit = 256
  /// A view with such a name cannot be created, or would hide one of SQLite's own tables.
  private static let reserved = ["json_", "pragma_", "sqlite_"]

  let connection: SQLiteConnection

  /// Creates the missing views, and drops those of other collections.
  func update() throws {
    let present = try present()
    let wanted = try wanted()
    try drop(present.filter { wanted[$0.key] != $0.value })
    try create(wanted.filter { present[$0.key] != $0.value })
  }

  /// Drops all views, so that migrations can create tables with their names.
  func dropAll() throws { try drop(present()) }

  func create(_ views: [String: String]) throws {
    for (_, sql) in views.sorted(by: { $0.key < $1.key }) { try connection.execute(sql) }
  }

  private func drop(_ views: [String: String]) throws {
    for name in views.keys.sorted() { try connection.execute("DROP VIEW \"\(name)\"") }
  }

  /// The views that a store should have, by name: those of its collections whose names are free in the schema of
  /// this or of another database.
  func wanted(in schema: SQLiteConnection? = nil) throws -> [String: String] {
    let schema = CollectionViews(connection: schema ?? connection)
    let present = try schema.present()
    // SQLite does not distinguish upper and lower case in names.
    var taken = Set(
      try schema.connection.all("SELECT name FROM sqlite_schema") { try $0[0] as String }
        .filter { present[$0] == nil }.map { $0.lowercased() }
    )
    var views: [String: String] = [:]
    try connection.forEach(
      """
      SELECT n.name, coalesce(m.kind, d.declaration ->> '$.kind') FROM (
        SELECT name FROM modules UNION SELECT name FROM declared_collections WHERE declaration IS NOT NULL
        ORDER BY name LIMIT ?
      ) AS n LEFT JOIN modules AS m USING (name) LEFT JOIN declared_collections AS d USING (name) ORDER BY n.name
      """,
      Self.limit
    ) { row in
      let name: String = try row[0]
      let folded = name.lowercased()
      guard Self.isPlain(name), !Self.reserved.contains(where: folded.hasPrefix), taken.insert(folded).inserted else {
        return
      }
      views[name] = try row[1] == "list" ? Self.list(name) : Self.map(name)
    }
    return views
  }

  /// The views that were created here, by name.
  private func present() throws -> [String: String] {
    let views = try connection.all("SELECT name, sql FROM sqlite_schema WHERE type = 'view'") { row in
      (name: try row[0] as String, sql: try row[1] as String)
    }
    return Dictionary(uniqueKeysWithValues: views.filter { [Self.list($0.name), Self.map($0.name)].contains($0.sql) })
  }

  /// Whether the name can be the name of a collection. In a damaged store, another one must not get into SQL.
  private static func isPlain(_ name: String) -> Bool {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    return !name.isEmpty && name.utf8.allSatisfy((letters + letters.uppercased() + "0123456789_-").utf8.contains)
  }

  private static func list(_ name: String) -> String {
    "CREATE VIEW \"\(name)\" AS SELECT user_id, id, element, rank, revision FROM list_elements "
      + "WHERE collection = '\(name)'"
  }

  private static func map(_ name: String) -> String {
    "CREATE VIEW \"\(name)\" AS SELECT user_id, key, value, revision FROM map_values WHERE collection = '\(name)'"
  }
}
