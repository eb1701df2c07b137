/// An id with a time and 74 random bits (RFC 9562, 5.7). Ids that are made later sort later.
public struct UUIDv7: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The first eight bytes: 48 bits of time, the version, 12 random bits.
  @usableFromInline package let high: UInt64
  /// The last eight bytes: the variant, 62 random bits.
  @usableFromInline package let low: UInt64

  /// Creates an id from its parts. Bits of the random numbers that do not fit are dropped.
  package init(milliseconds: Int64, random12: UInt64, random62: UInt64) {
    high = UInt64(truncatingIfNeeded: milliseconds) << 16 | 0x7000 | random12 & 0xFFF
    low = 0x8000_0000_0000_0000 | random62 & 0x3FFF_FFFF_FFFF_FFFF
  }

  /// Nil if the bits are not those of a UUIDv7.
  package init?(high: UInt64, low: UInt64) {
    guard high >> 12 & 0xF == 7, low >> 62 == 2 else { return nil }
    (self.high, self.low) = (high, low)
  }

  /// Reads the text form, `018f1e2c-….`: 32 hexadecimal digits of either case in five groups.
  /// Returns `nil` for anything else, including UUIDs of another version.
  @inlinable
  public init?(_ text: some StringProtocol) {
    var text = String(text)
    guard let id = text.withUTF8({ Self(ofDigits: $0) }) else { return nil }
    self = id
  }

  /// Not generic, because each row of a session has two ids.
  @usableFromInline
  init?(ofDigits bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count == 36 else { return nil }
    var words = (UInt64(0), UInt64(0))
    for position in 0..<36 {
      switch position {
      case 8, 13, 18, 23: guard bytes[position] == UInt8(ascii: "-") else { return nil }
      default:
        guard let digit = Self.value(ofDigit: bytes[position]) else { return nil }
        if position < 18 { words.0 = words.0 << 4 | digit } else { words.1 = words.1 << 4 | digit }
      }
    }
    self.init(high: words.0, low: words.1)
  }

  /// The time at which the id was made, in milliseconds since 1970.
  public var milliseconds: Int64 { Int64(high >> 16) }

  /// Hashes one word instead of two, because each request looks up ids a few times. The random bits
  /// of both words are in it.
  @inlinable
  public func hash(into hasher: inout Hasher) { hasher.combine(high &* 0x9E37_79B9_7F4A_7C15 ^ low) }

  /// Orders by time. Within a millisecond, the order is kept only for ids of one generator.
  public static func < (left: UUIDv7, right: UUIDv7) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// The text form, in lower case.
  public var description: String {
    // Each write to the store encodes ids of users and sessions. So this allocates only the string.
    String(unsafeUninitializedCapacity: 36) { text in
      let dash = UInt8(ascii: "-")
      (text[8], text[13], text[18], text[23]) = (dash, dash, dash, dash)
      Self.write(high >> 32, to: text, at: 0, 4)
      Self.write(high, to: text, at: 9, 14)
      Self.write(low >> 32, to: text, at: 19, 24)
      Self.write(low, to: text, at: 28, 32)
      return 36
    }
  }

  /// Writes the eight digits of the lower 32 bits, four at each place.
  @inline(__always)
  private static func write(_ bits: UInt64, to text: UnsafeMutableBufferPointer<UInt8>, at first: Int, _ second: Int) {
    let digits = digits(of: bits)
    text[first] = UInt8(truncatingIfNeeded: digits)
    text[first + 1] = UInt8(truncatingIfNeeded: digits >> 8)
    text[first + 2] = UInt8(truncatingIfNeeded: digits >> 16)
    text[first + 3] = UInt8(truncatingIfNeeded: digits >> 24)
    text[second] = UInt8(truncatingIfNeeded: digits >> 32)
    text[second + 1] = UInt8(truncatingIfNeeded: digits >> 40)
    text[second + 2] = UInt8(truncatingIfNeeded: digits >> 48)
    text[second + 3] = UInt8(truncatingIfNeeded: digits >> 56)
  }

  /// The eight digits of the lower 32 bits, the first one in the lowest byte. All digits are made
  /// at once: each step halves the groups of bits and moves them apart.
  private static func digits(of bits: UInt64) -> UInt64 {
    var word = (bits & 0xFFFF) << 32 | (bits >> 16) & 0xFFFF
    word = (word & 0x0000_00FF_0000_00FF) << 16 | (word >> 8) & 0x0000_00FF_0000_00FF
    word = (word & 0x000F_000F_000F_000F) << 8 | (word >> 4) & 0x000F_000F_000F_000F
    // Adding 6 carries into the upper half of the bytes of the digits a to f.
    let isLetter = (word + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return word + 0x3030_3030_3030_3030 + isLetter * UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
  }

  private static func value(ofDigit byte: UInt8) -> UInt64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
