import CLockstepSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
    guard (0..<columnCount).contains(column), let stored = stored(at: column) else {
      throw owner.error(
        SQLITE_RANGE,
        "there is no column \(column): columns count from 0, and the row has \(columnCount)"
      )
    }
    switch sqlite3_value_type(stored) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(stored))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(stored))
    case SQLITE_TEXT: return .text(try text(stored, column))
    case SQLITE_BLOB: return .blob(blob(stored))
    default: return .null
    }
  }

  /// Whether the value of a column can be read. A text that is not UTF-8 cannot.
  package func isReadable(at column: Int) -> Bool { (try? value(at: column)) != nil }

  package func isNull(at column: Int) -> Bool { sqlite3_value_type(stored(at: column)) == SQLITE_NULL }

  /// An integer, read faster than by the generic subscript.
  package func integer(at column: Int) throws(SQLiteError) -> Int {
    guard let stored = stored(at: column), sqlite3_value_type(stored) == SQLITE_INTEGER else {
      throw mismatch(column, try value(at: column), "Int")
    }
    return Int(sqlite3_value_int64(stored))
  }

  /// Whether a column holds a text of these bytes.
  package func hasText(_ expected: [UInt8], at column: Int) throws(SQLiteError) -> Bool {
    guard let stored = stored(at: column), sqlite3_value_type(stored) == SQLITE_TEXT else { return false }
    let bytes = try textBytes(stored)
    guard let start = bytes.baseAddress, bytes.count == expected.count else { return false }
    return memcmp(start, expected, bytes.count) == 0
  }

  /// Passes the bytes of a text to `body`, without a copy. Throws if the column holds no text, or
  /// text that is not UTF-8.
  package func withText(at column: Int, _ body: (Span<UInt8>) throws -> Void) throws {
    try body(validText(at: column).span)
  }

  /// The same for two columns.
  package func withTexts(
    at first: Int,
    _ second: Int,
    _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
  ) throws {
    try body(validText(at: first).span, validText(at: second).span)
  }

  /// The value of a column; NULL if there is no such column. It is valid until the next step.
  ///
  /// SQLite calls such a value unprotected, because only one thread at a time may use it. That is
  /// the thread that owns the connection.
  @inline(__always)
  private func stored(at column: Int) -> OpaquePointer? { sqlite3_column_value(statement, Int32(clamping: column)) }

  private func validText(at column: Int) throws(SQLiteError) -> UnsafeBufferPointer<UInt8> {
    guard let stored = stored(at: column), sqlite3_value_type(stored) == SQLITE_TEXT else {
      throw mismatch(column, try value(at: column), "text")
    }
    let bytes = try textBytes(stored)
    guard Self.isASCII(bytes) || Self.isUTF8(bytes) else { throw invalidText(column) }
    return bytes
  }

  private func text(_ stored: OpaquePointer, _ column: Int) throws(SQLiteError) -> String {
    guard let text = Self.text(try textBytes(stored)) else { throw invalidText(column) }
    return text
  }

  #if canImport(Darwin)
    // `UTF8Span` needs macOS 26 or iOS 26. `String(decoding:as:)` replaces what is not UTF-8.
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
      let text = String(decoding: bytes, as: UTF8.self)
      return text.utf8.elementsEqual(bytes) ? text : nil
    }

    private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { text(bytes) != nil }
  #else
    // `String(validating:as:)` is generic and looks up metadata for each text.
    @inline(__always)
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
      guard let text = try? UTF8Span(validating: bytes.span) else { return nil }
      return String(copying: text)
    }

    private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
      (try? UTF8Span(validating: bytes.span)) != nil
    }
  #endif

  /// The bytes of a text. SQLite keeps them until the next step.
  @inline(__always)
  private func textBytes(_ stored: OpaquePointer) throws(SQLiteError) -> UnsafeBufferPointer<UInt8> {
    guard let start = sqlite3_value_text(stored) else {
      // SQLite had no memory for the text.
      throw owner.error(SQLITE_NOMEM, "out of memory")
    }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(stored)))
  }

  /// Most texts are short and ASCII. `UTF8Span` takes three times as long for them.
  @inline(__always)
  private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let bytes = UnsafeRawBufferPointer(bytes)
    var (place, bits) = (0, UInt64(0))
    while place + 8 <= bytes.count {
      bits |= bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      place += 8
    }
    while place < bytes.count {
      bits |= UInt64(bytes[place])
      place += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  private func invalidText(_ column: Int) -> SQLiteError {
    owner.error(SQLITE_MISMATCH, "column \(column) (\(name(of: column))) holds text that is not UTF-8")
  }

  private func blob(_ stored: OpaquePointer) -> [UInt8] {
    // A null pointer means an empty blob. The bytes are valid until the next step.
    let start = sqlite3_value_blob(stored)
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(stored))))
  }

  private func name(of column: Int) -> String {
    sqlite3_column_name(statement, Int32(column)).map { String(cString: $0) } ?? "?"
  }
}
