import CLockstepSQLite

/// Reads a store's file with any query, as the `sqlite3` shell does.
enum StoreFile {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The rows of a query, each value as text. NULL is "NULL".
  static func rows(_ sql: String, in path: String) throws -> [[String]] {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { throw failure(database) }
    sqlite3_busy_timeout(database, 60_000)
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(database) }
    var rows: [[String]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rows.append((0..<sqlite3_column_count(statement)).map { value(of: statement, at: $0) })
      case SQLITE_DONE: return rows
      default: throw failure(database)
      }
    }
  }

  private static func value(of statement: OpaquePointer?, at column: Int32) -> String {
    // The bytes belong to SQLite until the statement moves on, so they are copied here.
    guard let bytes = sqlite3_column_blob(statement, column) else {
      return sqlite3_column_type(statement, column) == SQLITE_NULL ? "NULL" : ""
    }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  private static func failure(_ database: OpaquePointer?) -> Failure {
    Failure(description: String(cString: sqlite3_errmsg(database)))
  }
}
