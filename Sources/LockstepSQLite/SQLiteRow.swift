import CLockstepSQLite

/// The row that a statement stands on. It can't be kept: it is lent to the closure that reads it.
///
///     try connection.first("SELECT name, applied_at FROM migrations WHERE number = ?", 1) { row in
///       let name: String = try row[0]
///       let appliedAt: Int64 = try row[1]
///       …
///     }
public struct SQLiteRow: ~Copyable {
  /// A prepared statement after SQLITE_ROW: it outlives the row, because `SQLiteStatement` lends the row only while it steps.
  private let statement: OpaquePointer
  private let sql: String
  private let path: String

  init(statement: OpaquePointer, sql: String, path: String) {
    self.statement = statement
    self.sql = sql
    self.path = path
  }

  /// The number of columns.
  public var columnCount: Int { Int(sqlite3_column_count(statement)) }

  /// The column's value, counted from 0. Throws when there is no such column, or when it holds another kind of value.
  public subscript<Value: SQLiteConvertible>(column: Int) -> Value {
    get throws(SQLiteError) {
      let stored = try value(at: column)
      guard let value = Value(sqliteValue: stored) else {
        throw mismatch("column \(column) (\(name(of: column))) holds \(stored.kindName), which is no \(Value.self)")
      }
      return value
    }
  }

  /// The column's value as it is stored. Throws when there is no such column, or when it holds text that is not UTF-8.
  public func value(at column: Int) throws(SQLiteError) -> SQLiteValue {
    guard (0..<columnCount).contains(column) else {
      throw SQLiteError(
        extendedCode: SQLITE_RANGE,
        message: "there is no column \(column) among the \(columnCount) of the row",
        sql: sql,
        path: path
      )
    }
    let index = Int32(column)
    switch sqlite3_column_type(statement, index) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, index))
    case SQLITE_TEXT: return .text(try text(at: column))
    case SQLITE_BLOB: return .blob(blob(at: index))
    default: return .null
    }
  }

  private func text(at column: Int) throws(SQLiteError) -> String {
    let index = Int32(column)
    guard let start = sqlite3_column_text(statement, index) else {
      // A column of text without text: there was no memory for it.
      throw SQLiteError(extendedCode: SQLITE_NOMEM, message: "out of memory", sql: sql, path: path)
    }
    // SQLite keeps `sqlite3_column_bytes` bytes at `start` until the statement moves on; they are copied right here.
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw mismatch("column \(column) (\(name(of: column))) holds text that is not UTF-8")
    }
    return text
  }

  private func blob(at index: Int32) -> [UInt8] {
    // Null stands for an empty blob. Otherwise SQLite keeps `sqlite3_column_bytes` bytes there until the statement
    // moves on; they are copied right here.
    let start = sqlite3_column_blob(statement, index)
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
  }

  private func name(of column: Int) -> String {
    sqlite3_column_name(statement, Int32(column)).map { String(cString: $0) } ?? "?"
  }

  private func mismatch(_ message: String) -> SQLiteError {
    SQLiteError(extendedCode: SQLITE_MISMATCH, message: message, sql: sql, path: path)
  }
}
