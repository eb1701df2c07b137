import CLockstepSQLite

/// The current row of a statement, borrowed by the closure that reads it.
///
///     try connection.first("SELECT name, applied_at FROM migrations WHERE number = ?", 1) { row in
///       let name: String = try row[0]
///       let appliedAt: Int64 = try row[1]
///       …
///     }
public struct SQLiteRow: ~Copyable {
  /// The statement whose last step returned `SQLITE_ROW`. The row is valid until its next step.
  private let owner: SQLiteStatement
  private var statement: OpaquePointer { owner.pointer }

  init(of owner: SQLiteStatement) { self.owner = owner }

  /// The number of columns.
  public var columnCount: Int { Int(sqlite3_column_count(statement)) }

  /// The value of a column, counted from 0. Throws if there is no such column or it has another
  /// type.
  public subscript<Value: SQLiteConvertible>(column: Int) -> Value {
    get throws(SQLiteError) {
      let stored = try value(at: column)
      guard let value = Value(sqliteValue: stored) else {
        throw owner.error(
          SQLITE_MISMATCH,
          "column \(column) (\(name(of: column))) holds \(stored.kindName), which is not \(Value.self)"
        )
      }
      return value
    }
  }

  /// The stored value of a column. Throws if there is no such column or its text is not UTF-8.
  public func value(at column: Int) throws(SQLiteError) -> SQLiteValue {
    guard (0..<columnCount).contains(column) else {
      throw owner.error(
        SQLITE_RANGE,
        "there is no column \(column): columns count from 0, and the row has \(columnCount)"
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

  /// Whether the value of a column can be read. A text that is not UTF-8 cannot.
  package func isReadable(at column: Int) -> Bool { (try? value(at: column)) != nil }

  private func text(at column: Int) throws(SQLiteError) -> String {
    let index = Int32(column)
    guard let start = sqlite3_column_text(statement, index) else {
      // SQLite had no memory for the text.
      throw owner.error(SQLITE_NOMEM, "out of memory")
    }
    // SQLite keeps these bytes until the next step. They are copied here.
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw owner.error(SQLITE_MISMATCH, "column \(column) (\(name(of: column))) holds text that is not UTF-8")
    }
    return text
  }

  private func blob(at index: Int32) -> [UInt8] {
    // A null pointer means an empty blob. The bytes are valid until the next step.
    let start = sqlite3_column_blob(statement, index)
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
  }

  private func name(of column: Int) -> String {
    sqlite3_column_name(statement, Int32(column)).map { String(cString: $0) } ?? "?"
  }
}
