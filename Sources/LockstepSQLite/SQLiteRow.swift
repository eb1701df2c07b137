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
  @inlinable public subscript<Value: SQLiteConvertible>(column: Int) -> Value {
    get throws(SQLiteError) {
      let stored = try value(at: column)
      guard let value = Value(sqliteValue: stored) else { throw mismatch(column, stored, "\(Value.self)") }
      return value
    }
  }

  @usableFromInline func mismatch(_ column: Int, _ stored: SQLiteValue, _ type: String) -> SQLiteError {
    owner.error(
      SQLITE_MISMATCH,
      "column \(column) (\(name(of: column))) holds \(stored.kindName), which is not \(type)"
    )
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

  /// Appends a text to bytes, without a string in between. Throws if the column holds no text, or
  /// text that is not UTF-8.
  package func appendText(at column: Int, to result: inout [UInt8]) throws(SQLiteError) {
    guard (0..<columnCount).contains(column), sqlite3_column_type(statement, Int32(column)) == SQLITE_TEXT else {
      throw mismatch(column, try value(at: column), "text")
    }
    let bytes = try textBytes(at: column)
    guard (try? UTF8Span(validating: bytes.span)) != nil else { throw invalidText(column) }
    result.append(contentsOf: bytes)
  }

  private func text(at column: Int) throws(SQLiteError) -> String {
    // `String(validating:as:)` is generic and looks up metadata for each text.
    let bytes = try textBytes(at: column)
    guard let text = try? UTF8Span(validating: bytes.span) else { throw invalidText(column) }
    return String(copying: text)
  }

  /// The bytes of a text. SQLite keeps them until the next step, so the callers copy them at once.
  private func textBytes(at column: Int) throws(SQLiteError) -> UnsafeBufferPointer<UInt8> {
    let index = Int32(column)
    guard let start = sqlite3_column_text(statement, index) else {
      // SQLite had no memory for the text.
      throw owner.error(SQLITE_NOMEM, "out of memory")
    }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
  }

  private func invalidText(_ column: Int) -> SQLiteError {
    owner.error(SQLITE_MISMATCH, "column \(column) (\(name(of: column))) holds text that is not UTF-8")
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
