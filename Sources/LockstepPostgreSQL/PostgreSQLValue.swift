/// The 128 bits of a UUID.
package struct PostgreSQLUUID: Sendable, Hashable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// A parameter of a statement, or a value of a result.
///
/// Integers, reals and texts are sent as text without a type, so that the server infers the type. A
/// text may thus become a `uuid` or `json`. All other values are sent in binary format with their
/// type. Where the server cannot infer a type, add a cast to the SQL: `SELECT $1::int8`.
package enum PostgreSQLValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case real(Double)
  /// U+0000 is refused, because PostgreSQL cannot store it.
  case text(String)
  case bytes([UInt8])
  case uuid(UInt64, UInt64)
  /// `int8[]`
  case integers([Int64])
  case optionalIntegers([Int64?])
  /// `text[]`
  case texts([String])
  case optionalTexts([String?])
  /// `bytea[]`
  case byteStrings([[UInt8]])
  case optionalByteStrings([[UInt8]?])
  /// `uuid[]`
  case uuids([PostgreSQLUUID])
  case optionalUUIDs([PostgreSQLUUID?])

  package static func uuid(_ uuid: PostgreSQLUUID) -> PostgreSQLValue { .uuid(uuid.high, uuid.low) }
}

/// PostgreSQL's numbers for types, which never change.
enum TypeNumber {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let name: UInt32 = 19
  static let int8: UInt32 = 20
  static let int2: UInt32 = 21
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let oid: UInt32 = 26
  static let json: UInt32 = 114
  static let float4: UInt32 = 700
  static let float8: UInt32 = 701
  static let unknown: UInt32 = 705
  static let byteaArray: UInt32 = 1001
  static let textArray: UInt32 = 1009
  static let int8Array: UInt32 = 1016
  static let bpchar: UInt32 = 1042
  static let varchar: UInt32 = 1043
  static let void: UInt32 = 2278
  static let uuid: UInt32 = 2950
  static let uuidArray: UInt32 = 2951
  static let jsonb: UInt32 = 3802
  static let xid8: UInt32 = 5069

  /// The names of common types, for messages.
  private static let names: [UInt32: String] = [
    bool: "bool", bytea: "bytea", 18: "\"char\"", name: "name", int8: "int8", int2: "int2", int4: "int4", text: "text",
    oid: "oid", 28: "xid", json: "json", 600: "point", float4: "float4", float8: "float8", 869: "inet",
    1000: "bool[]", byteaArray: "bytea[]", 1003: "name[]", 1005: "int2[]", 1007: "int4[]", textArray: "text[]",
    int8Array: "int8[]", bpchar: "char(n)", varchar: "varchar", 1082: "date", 1083: "time", 1114: "timestamp",
    1184: "timestamptz", 1186: "interval", 1700: "numeric", 2249: "record", void: "void", uuid: "uuid",
    uuidArray: "uuid[]", 3220: "pg_lsn", jsonb: "jsonb", xid8: "xid8",
  ]

  static func name(of type: UInt32) -> String { names[type] ?? "the type with oid \(type)" }
}
