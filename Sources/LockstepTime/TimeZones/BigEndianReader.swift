/// Reads bytes in order, with bounds checks.
struct BigEndianReader {
  /// The unread bytes.
  private(set) var remainder: ArraySlice<UInt8>

  init(_ bytes: some Sequence<UInt8>) { remainder = ArraySlice(bytes) }

  mutating func bytes(_ count: Int) throws(TimeZoneError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remainder.count else { throw TimeZoneError("The file ends too early.") }
    defer { remainder = remainder.dropFirst(count) }
    return remainder.prefix(count)
  }

  /// Reads a signed number.
  mutating func integer(ofBytes count: Int) throws(TimeZoneError) -> Int64 {
    let bytes = try bytes(count)
    let isNegative = (bytes.first ?? 0) & 0x80 != 0
    return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
  }
}
