/// A row that violates a foreign key.
package struct MissingReference: Sendable, Equatable {
  package let table: String
  /// Nil in a table without row numbers.
  package let row: Int64?
  /// The table with the missing row.
  package let parent: String
}

extension SQLiteConnection {
  /// How thoroughly a file is checked.
  package enum Thoroughness: Sendable {
    /// The position and the format of every page.
    case pages
    /// Also that each index matches its table and each row satisfies its constraints. Takes several
    /// times as long.
    case everything
  }

  /// Up to a hundred descriptions of damage, in SQLite's words. Reads the whole file, on a
  /// snapshot.
  package func damage(_ thoroughness: Thoroughness) throws -> [String] {
    let sql: StaticString =
      switch thoroughness {
      case .pages: "PRAGMA quick_check(100)"
      case .everything: "PRAGMA integrity_check(100)"
      }
    var words: [String] = []
    do {
      try forEach(sql) { row in words.append(try row[0]) }
    } catch let error as SQLiteError where [.corrupt, .notADatabase].contains(error.kind) {
      // SQLite throws if it cannot walk the file at all.
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
