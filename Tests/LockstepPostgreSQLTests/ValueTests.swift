import LockstepPostgreSQL
import Testing

@Suite("Values", .timeLimit(.minutes(10)), .enabled(if: TestServer.isAvailable, TestServer.reason))
struct ValueTests {
  private let connection: PostgreSQLConnection

  init() throws { connection = try TestServer.connect() }

  @Test("Integers come back from columns of all sizes")
  func integers() throws {
    for number in [0, 1, -1, .max, .min] as [Int64] {
      #expect(try connection.values("SELECT $1::int8", [.integer(number)]) == [.integer(number)])
    }
    #expect(
      try connection.values(
        "SELECT $1::int2, $2::int4, $3::oid, $4::xid8",
        [-7, -70_000, 4_000_000_000, 5_000_000_000].map { .integer($0) }
      )
        == [-7, -70_000, 4_000_000_000, 5_000_000_000].map { .integer($0) }
    )
    #expect(
      try connection.values("SELECT true, false, $1::bool", [.integer(1)]) == [.integer(1), .integer(0), .integer(1)]
    )
  }

  @Test("Reals come back exactly, also infinity and NaN")
  func reals() throws {
    let reals = [0, -0.0, 0.1, 1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity]
    for real in reals {
      #expect(try connection.values("SELECT $1::float8", [.real(real)]) == [.real(real)])
    }
    let result = try connection.query(PostgreSQLStatement("SELECT $1::float8, 0.5::float4"), [.real(.nan)])
    #expect(try result.row(0).real(at: 0).isNaN)
    #expect(try result.row(0).real(at: 1) == 0.5)
  }

  @Test(
    "Texts come back, also empty and with every kind of character",
    arguments: ["", "a", "it's \"\\x", "Grüße 👩‍👩‍👧 \u{1}\u{FFFF}\u{10FFFF}"]
  )
  func texts(text: String) throws {
    #expect(try connection.values("SELECT $1::text, $1::varchar", [.text(text)]) == [.text(text), .text(text)])
    #expect(try connection.query(PostgreSQLStatement("SELECT $1::text"), [.text(text)]).row(0).text(at: 0) == text)
  }

  @Test("Bytes come back, also empty and 1 MB of them")
  func bytes() throws {
    let many = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for bytes in [[], [0], [0, 255, 92], many] as [[UInt8]] {
      #expect(try connection.values("SELECT $1::bytea", [.bytes(bytes)]) == [.bytes(bytes)])
      let result = try connection.query(PostgreSQLStatement("SELECT $1::bytea"), [.bytes(bytes)])
      #expect(try result.row(0).bytes(at: 0) == bytes)
      #expect(try result.row(0).withBytes(at: 0) { span in span.count } == bytes.count)
    }
  }

  @Test("A UUID is sent in binary or as a text")
  func uuid() throws {
    let uuid = PostgreSQLUUID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
    let text = "01234567-89ab-cdef-fedc-ba9876543210"
    #expect(try connection.values("SELECT $1::uuid, $1::text", [.uuid(uuid)]) == [.uuid(uuid), .text(text)])
    let result = try connection.query(PostgreSQLStatement("SELECT $1::uuid"), [.text(text)])
    #expect(try result.row(0).uuid(at: 0) == uuid)
  }

  @Test("JSON is a text without the version byte of jsonb")
  func json() throws {
    #expect(
      try connection.values("SELECT $1::json, $1::jsonb", [.text(#"{"a": [1]}"#)])
        == [.text(#"{"a": [1]}"#), .text(#"{"a": [1]}"#)]
    )
    let row = try connection.query(PostgreSQLStatement("SELECT '[]'::jsonb")).row(0)
    #expect(try row.withBytes(at: 0) { span in span.count } == 2)
  }

  @Test("NULL has no type, and is not an empty value")
  func null() throws {
    let statement = PostgreSQLStatement("SELECT $1::int8, $2::text, $3::bytea, $4::uuid[]")
    let row = try connection.query(statement, [.null, .null, .bytes([]), .null]).row(0)
    #expect(row.isNull(at: 0) && row.isNull(at: 1) && !row.isNull(at: 2) && row.isNull(at: 3))
    #expect(try row.value(at: 1) == .null)
    #expect(throws: PostgreSQLError.self) { try row.integer(at: 0) }
    let error = postgreSQLError { _ = try row.text(at: 1) }
    #expect(error?.kind == .mismatch)
    #expect(error?.message == "column 1 (text) holds NULL, which is not a text")
  }

  @Test("Arrays come back with their NULLs")
  func arrays() throws {
    func elements(_ type: String, _ array: PostgreSQLValue) throws -> [PostgreSQLValue] {
      try connection.column(
        "SELECT element FROM unnest($1::\(type)[]) WITH ORDINALITY AS list (element, place) ORDER BY place",
        [array]
      )
    }
    let uuid = PostgreSQLUUID(high: 1, low: .max)
    #expect(try elements("int8", .integers([1, -2, .max])) == [.integer(1), .integer(-2), .integer(.max)])
    #expect(try elements("int8", .optionalIntegers([nil, 3, nil])) == [.null, .integer(3), .null])
    #expect(try elements("text", .texts(["", "NULL", "{\"ü\"}"])) == [.text(""), .text("NULL"), .text("{\"ü\"}")])
    #expect(try elements("text", .optionalTexts(["a", nil])) == [.text("a"), .null])
    #expect(try elements("bytea", .byteStrings([[], [0, 1]])) == [.bytes([]), .bytes([0, 1])])
    #expect(try elements("bytea", .optionalByteStrings([nil, [2]])) == [.null, .bytes([2])])
    #expect(try elements("uuid", .uuids([uuid])) == [.uuid(uuid)])
    #expect(try elements("uuid", .optionalUUIDs([nil, uuid])) == [.null, .uuid(uuid)])
    for (type, empty) in [
      ("int8", .integers([])), ("text", .texts([])), ("bytea", .byteStrings([])), ("uuid", .uuids([])),
    ] as [(String, PostgreSQLValue)] {
      #expect(try elements(type, empty).isEmpty)
    }
    let many = (0..<10_000).map(Int64.init)
    #expect(
      try connection.values("SELECT sum(n)::int8 FROM unnest($1::int8[]) AS n", [.integers(many)]) == [
        .integer(49_995_000)
      ]
    )
    // Without a cast, the type of the array is known as well.
    #expect(try connection.values("SELECT 2 = ANY ($1)", [.integers([1, 2])]) == [.integer(1)])
  }

  @Test("A text with U+0000 is refused before anything is sent")
  func zeroCharacter() throws {
    try connection.execute("BEGIN")
    for value in [.text("a\0b"), .texts(["a", "\0"]), .optionalTexts([nil, "\0"])] as [PostgreSQLValue] {
      var pipeline = PostgreSQLPipeline()
      pipeline.add(PostgreSQLStatement("SELECT 1"))
      pipeline.add(PostgreSQLStatement("SELECT $1"), [value])
      let error = postgreSQLError { _ = try connection.send(pipeline) }
      #expect(error?.kind == .mismatch)
      #expect(error?.statementIndex == 1)
      #expect(
        error?.description
          == "PostgreSQL could not run \"SELECT $1\": the parameter $1 contains the character U+0000, which PostgreSQL cannot store."
      )
    }
    // A failed statement would have ended the transaction.
    #expect(try connection.values("SELECT 1") == [.integer(1)])
    #expect(postgreSQLError { try connection.execute("SELECT 1\0") }?.kind == .mismatch)
  }

  @Test("Too many parameters are refused before anything is sent")
  func tooManyParameters() throws {
    let values = [PostgreSQLValue](repeating: .integer(1), count: 65_536)
    #expect(postgreSQLError { try connection.run(PostgreSQLStatement("SELECT 1"), values) }?.kind == .mismatch)
    #expect(try connection.values("SELECT 1") == [.integer(1)])
  }

  @Test("A type without a decoder is refused, with its name and the name of the column")
  func unknownType() throws {
    let row = try connection.query(PostgreSQLStatement("SELECT 1.5 AS price, 'a'::text, now()")).row(0)
    #expect(
      postgreSQLError { _ = try row.value(at: 0) }?.message
        == "column 0 (price) has the type numeric, which is not a value of a known type; cast it in the SQL"
    )
    #expect(
      postgreSQLError { _ = try row.integer(at: 1) }?.message
        == "column 1 (text) has the type text, which is not an integer; cast it in the SQL"
    )
    #expect(postgreSQLError { _ = try row.bytes(at: 1) }?.kind == .mismatch)
    #expect(postgreSQLError { _ = try row.uuid(at: 1) }?.kind == .mismatch)
    #expect(postgreSQLError { _ = try row.text(at: 2) }?.kind == .mismatch)
    #expect(
      postgreSQLError { _ = try row.value(at: 3) }?.message
        == "there is no column 3: columns count from 0, and the row has 3"
    )
    #expect(postgreSQLError { _ = try row.value(at: -1) }?.kind == .mismatch)
  }
}
