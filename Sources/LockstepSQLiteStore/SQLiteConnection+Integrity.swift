import LockstepSQLite

/// A row that violates a foreign key.
package struct MissingReference: Sendable, Equatable {
  package let table: String
  /// Nil in a table without row numbers.
  package let row: Int64?
  /// The table with the missing row.
  package let parent: String
}

extension SQLiteConnection {
  /// Up to a hundred descriptions of damage, in SQLite's words. Reads the whole file.
  ///
  /// Checks every page and every row. If `thoroughly`, also checks that each index matches its
  /// table and that `UNIQUE` constraints hold, which takes several times as long.
  package func damage(thoroughly: Bool) throws -> [String] {
    let sql: StaticString = thoroughly ? "PRAGMA integrity_check(100)" : "PRAGMA quick_check(100)"
    var words: [String] = []
    do {
      try forEach(sql) { row in words.append(try row[0]) }
    } catch let error as SQLiteError where [.corrupt, .notADatabase].contains(error.kind) {
      // If SQLite cannot read the file at all, it returns an error instead of rows.
      words.append(error.message)
    }
    return words == ["ok"] ? [] : words
  }

  /// Rows that violate a foreign key, up to `limit`.
  package func missingReferences(limit: Int = 100) throws -> [MissingReference] {
    try all("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check LIMIT ?", limit) { row in
      MissingReference(table: try row[0], row: try row[1], parent: try row[2])
    }
  }
}
