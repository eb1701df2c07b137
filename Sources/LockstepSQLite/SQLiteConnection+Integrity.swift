/// A row that refers to one that isn't there.
public struct MissingReference: Sendable, Equatable {
  /// The row's table.
  public let table: String
  /// Which row; nil in a table that has no numbers for its rows.
  public let row: Int64?
  /// The table in which the other should be.
  public let parent: String

  /// A reference of its parts.
  public init(table: String, row: Int64?, parent: String) {
    self.table = table
    self.row = row
    self.parent = parent
  }
}

extension SQLiteConnection {
  /// How thoroughly a file is looked at.
  public enum Thoroughness: Sendable {
    /// Every page, its place and its form.
    case pages
    /// That, and that every index has exactly the rows of its table, and every row what its columns demand. Takes several
    /// times as long.
    case everything
  }

  /// What is wrong with the file as a database, in SQLite's words, at most a hundred of them; empty where nothing is.
  ///
  /// Reads all of the file. It's of one moment, like any reading, and nobody waits for it.
  public func damage(_ thoroughness: Thoroughness) throws -> [String] {
    let sql: StaticString =
      switch thoroughness {
      case .pages: "PRAGMA quick_check(100)"
      case .everything: "PRAGMA integrity_check(100)"
      }
    var words: [String] = []
    do {
      try forEach(sql) { row in words.append(try row[0]) }
    } catch let error as SQLiteError where [.corrupt, .notADatabase].contains(error.kind) {
      // What it can't go through at all it doesn't list.
      words.append(error.message)
    }
    return words == ["ok"] ? [] : words
  }

  /// Rows that refer to one that isn't there, at most so many.
  public func missingReferences(limit: Int = 100) throws -> [MissingReference] {
    try all("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check LIMIT ?", limit) { row in
      MissingReference(table: try row[0], row: try row[1], parent: try row[2])
    }
  }
}
