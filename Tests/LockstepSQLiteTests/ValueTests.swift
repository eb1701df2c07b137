import LockstepSQLite
import Testing
import LockstepTestSupport

@Suite("Values", .timeLimit(.minutes(10)))
struct ValueTests {
  private let folder: TemporaryDirectory
  private let connection: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    connection = try SQLiteConnection(path: folder.file("values.db"))
    try connection.execute("CREATE TABLE kept (value ANY) STRICT")
  }

  /// Stores the value in a table and reads it back.
  private func roundTrip<Value: SQLiteConvertible>(_ value: Value) throws -> Value? {
    try connection.run("DELETE FROM kept")
    try connection.run("INSERT INTO kept VALUES (?)", value)
    return try connection.first("SELECT value FROM kept") { row in try row[0] as Value }
  }

  @Test(
    "Integers are exact, at both ends of 64 bits",
    arguments: [.min, -1, 0, 1, 9_007_199_254_740_993, .max] as [Int64]
  )
  func integers(value: Int64) throws {
    #expect(try roundTrip(value) == value)
    #expect(try roundTrip(Int(value)) == Int(value))
  }

  @Test(
    "Floating-point numbers keep all bits",
    arguments: [
      0.0, 0.1, -1.5, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .leastNormalMagnitude, .infinity, -.infinity,
      .pi, 9_007_199_254_740_992,
    ] as [Double]
  )
  func doubles(value: Double) throws {
    #expect(try roundTrip(value)?.bitPattern == value.bitPattern)
  }

  @Test("NaN is stored as NULL")
  func notANumber() throws {
    #expect(try roundTrip(Optional(Double.nan)) == .some(nil))
    let error = #expect(throws: SQLiteError.self) { try self.roundTrip(Double.nan) }
    #expect(error?.kind == .mismatch)
  }

  @Test(
    "Text keeps all bytes, with NUL characters and any UTF-8",
    arguments: [
      "", "a", "\0", "a\0b", "'; DROP TABLE kept; --", "é", "e\u{301}", "\u{FEFF}x", "\u{FFFF}", "\u{10FFFF}", "👩‍👩‍👧‍👦",
      String(repeating: "long ", count: 10_000),
    ] as [String]
  )
  func text(value: String) throws {
    #expect(try roundTrip(value).map { Array($0.utf8) } == Array(value.utf8))
  }

  @Test("Blobs keep all bytes", arguments: [[], [0], [0, 1, 0], Array(0...255)] as [[UInt8]])
  func blobs(value: [UInt8]) throws {
    #expect(try roundTrip(value) == value)
    #expect(try connection.first("SELECT typeof(value) FROM kept") { row in try row[0] as String } == "blob")
  }

  @Test(
    "A value of any type is stored unchanged",
    arguments: [.null, .integer(1), .real(0.5), .text("a"), .blob([1])] as [SQLiteValue]
  )
  func anyKind(value: SQLiteValue) throws {
    #expect(try roundTrip(value) == value)
  }

  @Test("Booleans are stored as 1 and 0", arguments: [(true, 1), (false, 0)])
  func truth(value: Bool, stored: Int) throws {
    #expect(try roundTrip(value) == value)
    #expect(try connection.first("SELECT value FROM kept") { row in try row[0] as Int } == stored)
  }

  @Test("Nil is NULL, and NULL is nil of any type")
  func absent() throws {
    #expect(try roundTrip(String?.none) == .some(nil))
    #expect(try connection.first("SELECT value FROM kept") { row in try row.value(at: 0) } == .null)
    #expect(try connection.first("SELECT value FROM kept") { row in try row[0] as [UInt8]? } == .some(nil))
    #expect(try roundTrip(Optional("there")) == "there")
    #expect(try roundTrip(Optional([UInt8]())) == .some([]))
  }

  @Test(
    "A column of another type than requested is an error",
    arguments: [.null, .integer(2), .real(1), .text("1"), .blob([1])] as [SQLiteValue]
  )
  func mismatch(value: SQLiteValue) throws {
    try connection.run("INSERT INTO kept VALUES (?)", value)
    func read<Value: SQLiteConvertible>(_: Value.Type) throws {
      _ = try connection.first("SELECT value FROM kept") { row in try row[0] as Value }
    }
    func isMismatch(_ error: any Error) -> Bool { (error as? SQLiteError)?.kind == .mismatch }
    if case .integer = value {} else { #expect(performing: { try read(Int.self) }, throws: isMismatch) }
    if case .real = value {} else { #expect(performing: { try read(Double.self) }, throws: isMismatch) }
    if case .text = value {} else { #expect(performing: { try read(String.self) }, throws: isMismatch) }
    if case .blob = value {} else { #expect(performing: { try read([UInt8].self) }, throws: isMismatch) }
    // 2 is neither true nor false.
    #expect(performing: { try read(Bool.self) }, throws: isMismatch)
  }

  @Test("A mismatch names the column and its type")
  func mismatchText() throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.first("SELECT 'one' AS number") { row in try row[0] as Int }
    }
    #expect(
      error?.description
        == "SQLite could not run \"SELECT 'one' AS number\" on \(folder.file("values.db")): "
        + "column 0 (number) holds text, which is not Int (code 20)."
    )
  }

  @Test("Text that is not UTF-8 is an error, and is not repaired")
  func invalidText() throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.first("SELECT CAST(x'ff' AS TEXT) AS name") { row in try row[0] as String }
    }
    #expect(error?.message == "column 0 (name) holds text that is not UTF-8")
  }

  private func string(_ bytes: Span<UInt8>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  @Test("Texts are read in place, byte for byte", arguments: ["", "a", "12345678", "long enough: é東🌌", "\0"])
  func textInPlace(text: String) throws {
    let isRead: Bool? = try connection.first("SELECT ?, ?, NULL, 7", text, text + "x") { row in
      var read: [String] = []
      try row.withText(at: 0) { read.append(string($0)) }
      try row.withTexts(at: 1, 0) { first, second in
        read.append(string(first))
        read.append(string(second))
      }
      #expect(read == [text, text + "x", text])
      #expect(try row.hasText(Array(text.utf8), at: 0) && !row.hasText(Array(text.utf8), at: 1))
      #expect(try row.isNull(at: 2) && !row.isNull(at: 0) && !row.hasText([], at: 2) && row.integer(at: 3) == 7)
      return true
    }
    #expect(isRead == true)
  }

  @Test("Reading a text in place, or an integer, throws if the column holds anything else")
  func otherValuesInPlace() throws {
    func message(_ read: (borrowing SQLiteRow) throws -> Void) -> String? {
      let error = #expect(throws: SQLiteError.self) {
        try self.connection.first("SELECT CAST(x'61ff' AS TEXT) AS name, 1 AS count, NULL AS missing") { try read($0) }
      }
      return error?.message
    }
    #expect(message { try $0.withText(at: 0) { _ in } } == "column 0 (name) holds text that is not UTF-8")
    #expect(message { try $0.withText(at: 1) { _ in } } == "column 1 (count) holds integer, which is not text")
    #expect(message { try $0.withTexts(at: 0, 2) { _, _ in } } == "column 0 (name) holds text that is not UTF-8")
    #expect(message { _ = try $0.integer(at: 2) } == "column 2 (missing) holds null, which is not Int")
    #expect(
      message { try $0.withText(at: 3) { _ in } } == "there is no column 3: columns count from 0, and the row has 3"
    )
  }

  @Test("A missing column is an error", arguments: [-1, 1, Int.max, Int.min])
  func noSuchColumn(index: Int) throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.first("SELECT 1") { row in try row[index] as Int }
    }
    #expect(error?.message == "there is no column \(index): columns count from 0, and the row has 1")
  }
}
