/// Goes through bytes from the first to the last; never past them.
struct BigEndianReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: some Sequence<UInt8>) {
    rest = ArraySlice(bytes)
  }

  /// The next so many bytes.
  mutating func bytes(_ count: Int) throws(TimeZoneError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= rest.count else { throw TimeZoneError("The file ends too early.") }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// The next number, of so many bytes with a sign.
  mutating func integer(ofBytes count: Int) throws(TimeZoneError) -> Int64 {
    let bytes = try bytes(count)
    let isNegative = (bytes.first ?? 0) & 0x80 != 0
    return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
  }

  /// What is left.
  var remainder: ArraySlice<UInt8> { rest }
}
