/// Reads bytes in order, with bounds checks.
struct BigEndianReader {
  private(set) var remainder: ArraySlice<UInt8>

  init(_ bytes: some Sequence<UInt8>) { remainder = ArraySlice(bytes) }

  mutating func bytes(_ count: Int) throws(TimeZoneError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remainder.count else { throw TimeZoneError("The file ends too early.") }
    defer { remainder = remainder.dropFirst(count) }
    return remainder.prefix(count)
  }

  mutating func integer(ofBytes count: Int) throws(TimeZoneError) -> Int64 {
    let bytes = try bytes(count)
    let isNegative = (bytes.first ?? 0) & 0x80 != 0
    return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
  }

  mutating func count() throws(TimeZoneError) -> Int {
    let count = try integer(ofBytes: 4)
    // The limit is more than any file has, and small enough to multiply.
    guard (0...1_000_000).contains(count) else { throw TimeZoneError("The file has an invalid count.") }
    return Int(count)
  }
}
