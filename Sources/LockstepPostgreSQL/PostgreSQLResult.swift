import CLockstepPostgreSQL

/// The rows of a statement, and how many it changed.
///
/// `@unchecked Sendable`: libpq does not change a result after it has returned it, and allows many
/// threads to read it.
package final class PostgreSQLResult: @unchecked Sendable {
  /// Owned by this object.
  fileprivate let pointer: OpaquePointer
  fileprivate let libpq: PostgreSQLLibrary
  fileprivate let statement: PostgreSQLStatement

  package let rowCount: Int
  package let columnCount: Int

  /// Takes over the result.
  init(_ pointer: OpaquePointer, _ libpq: PostgreSQLLibrary, _ statement: PostgreSQLStatement) {
    self.pointer = pointer
    self.libpq = libpq
    self.statement = statement
    rowCount = Int(libpq.functions.ntuples(pointer))
    columnCount = Int(libpq.functions.nfields(pointer))
  }

  deinit { libpq.functions.clear(pointer) }

  /// The number of rows that the statement changed, or returned if it only reads. 0 for a statement
  /// such as `BEGIN`.
  package var changedRows: Int {
    // The text belongs to the result. It is parsed here.
    libpq.functions.cmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// A row, counted from 0. It must exist.
  package func row(_ index: Int) -> PostgreSQLRow {
    precondition((0..<rowCount).contains(index), "there is no row \(index)")
    return PostgreSQLRow(self, Int32(index))
  }

  /// Passes each row to `body`.
  package func forEach(_ body: (borrowing PostgreSQLRow) throws -> Void) throws {
    for index in 0..<rowCount { try body(row(index)) }
  }
}

/// A row of a result. Columns count from 0.
package struct PostgreSQLRow: ~Copyable {
  private let result: PostgreSQLResult
  private let index: Int32

  fileprivate init(_ result: PostgreSQLResult, _ index: Int32) {
    self.result = result
    self.index = index
  }

  package var columnCount: Int { result.columnCount }

  /// Whether a column holds NULL. Also true if there is no such column.
  package func isNull(at column: Int) -> Bool {
    guard (0..<columnCount).contains(column) else { return true }
    return result.libpq.functions.getisnull(result.pointer, index, Int32(column)) != 0
  }

  /// A `bool`, `int2`, `int4`, `int8`, `oid` or `xid8`.
  package func integer(at column: Int) throws(PostgreSQLError) -> Int {
    let (type, bytes) = try stored(at: column, as: "an integer")
    guard let integer = Self.integer(type, bytes) else { throw mismatch(column, type, "an integer") }
    return Int(integer)
  }

  /// A `float4` or `float8`.
  package func real(at column: Int) throws(PostgreSQLError) -> Double {
    let (type, bytes) = try stored(at: column, as: "a real")
    guard let real = Self.real(type, bytes) else { throw mismatch(column, type, "a real") }
    return real
  }

  /// A `text`, `varchar`, `name`, `json`, `jsonb` or similar.
  package func text(at column: Int) throws(PostgreSQLError) -> String {
    let (type, bytes) = try stored(at: column, as: "a text")
    guard let text = Self.textBytes(type, bytes) else { throw mismatch(column, type, "a text") }
    return try string(text, column)
  }

  /// A `bytea`.
  package func bytes(at column: Int) throws(PostgreSQLError) -> [UInt8] {
    let (type, bytes) = try stored(at: column, as: "bytes")
    guard type == TypeNumber.bytea else { throw mismatch(column, type, "bytes") }
    return Array(bytes)
  }

  /// A `uuid`.
  package func uuid(at column: Int) throws(PostgreSQLError) -> PostgreSQLUUID {
    let (type, bytes) = try stored(at: column, as: "a uuid")
    guard type == TypeNumber.uuid, bytes.count == 16 else { throw mismatch(column, type, "a uuid") }
    return Self.uuid(bytes)
  }

  /// A value of any type that has a decoder, or NULL.
  package func value(at column: Int) throws(PostgreSQLError) -> PostgreSQLValue {
    if (0..<columnCount).contains(column), isNull(at: column) { return .null }
    let (type, bytes) = try stored(at: column, as: "a value")
    if let integer = Self.integer(type, bytes) { return .integer(integer) }
    if let text = Self.textBytes(type, bytes) { return .text(try string(text, column)) }
    if let real = Self.real(type, bytes) { return .real(real) }
    switch type {
    case TypeNumber.bytea: return .bytes(Array(bytes))
    case TypeNumber.uuid where bytes.count == 16: return .uuid(Self.uuid(bytes))
    default: throw mismatch(column, type, "a value of a known type")
    }
  }

  /// Passes the bytes of a `bytea` or of a text to `body`, without a copy.
  package func withBytes<Result>(at column: Int, _ body: (Span<UInt8>) throws -> Result) throws -> Result {
    let (type, bytes) = try stored(at: column, as: "bytes")
    guard let bytes = type == TypeNumber.bytea ? bytes : Self.textBytes(type, bytes) else {
      throw mismatch(column, type, "bytes or a text")
    }
    // The result owns the bytes, and this row retains the result while `body` runs.
    return try withExtendedLifetime(result) { try body(bytes.bindMemory(to: UInt8.self).span) }
  }

  // MARK: - Decoding

  /// The type and the bytes of a column. The bytes are valid as long as the result.
  private func stored(
    at column: Int,
    as expected: String
  ) throws(PostgreSQLError) -> (UInt32, UnsafeRawBufferPointer) {
    guard (0..<columnCount).contains(column) else {
      throw error("there is no column \(column): columns count from 0, and the row has \(columnCount)")
    }
    let (libpq, place) = (result.libpq, Int32(column))
    let start = libpq.functions.getvalue(result.pointer, index, place)
    let length = Int(libpq.functions.getlength(result.pointer, index, place))
    // NULL and a value of no bytes both have the length 0.
    if length == 0, libpq.functions.getisnull(result.pointer, index, place) != 0 {
      throw error("column \(column) (\(name(of: column))) holds NULL, which is not \(expected)")
    }
    return (libpq.functions.ftype(result.pointer, place), UnsafeRawBufferPointer(start: start, count: length))
  }

  private static func integer(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Int64? {
    switch (type, bytes.count) {
    case (TypeNumber.int8, 8): Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (TypeNumber.int4, 4): Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (TypeNumber.int2, 2): Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case (TypeNumber.bool, 1): Int64(bytes[0])
    case (TypeNumber.oid, 4): Int64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
    case (TypeNumber.xid8, 8): Int64(exactly: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    default: nil
    }
  }

  private static func real(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Double? {
    switch (type, bytes.count) {
    case (TypeNumber.float8, 8):
      Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    case (TypeNumber.float4, 4):
      Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
    default: nil
    }
  }

  private static func uuid(_ bytes: UnsafeRawBufferPointer) -> PostgreSQLUUID {
    PostgreSQLUUID(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }

  /// The characters of a text type, or nil for another type.
  private static func textBytes(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    switch type {
    case TypeNumber.text, TypeNumber.varchar, TypeNumber.bpchar, TypeNumber.name, TypeNumber.json,
      TypeNumber.unknown, TypeNumber.void:
      bytes
    // The first byte is the version of the format.
    case TypeNumber.jsonb where !bytes.isEmpty: UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    default: nil
    }
  }

  private func string(_ bytes: UnsafeRawBufferPointer, _ column: Int) throws(PostgreSQLError) -> String {
    guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else {
      throw error("column \(column) (\(name(of: column))) holds text that is not UTF-8")
    }
    return String(copying: text)
  }

  private func mismatch(_ column: Int, _ type: UInt32, _ expected: String) -> PostgreSQLError {
    error(
      "column \(column) (\(name(of: column))) has the type \(TypeNumber.name(of: type)), which is not \(expected); "
        + "cast it in the SQL"
    )
  }

  private func error(_ message: String) -> PostgreSQLError {
    PostgreSQLError(kind: .mismatch, message: message, operation: .run(sql: result.statement.sql))
  }

  private func name(of column: Int) -> String {
    result.libpq.functions.fname(result.pointer, Int32(column)).map { String(cString: $0) } ?? "?"
  }
}
