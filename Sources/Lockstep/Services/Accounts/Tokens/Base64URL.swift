/// base64url (RFC 4648, 5), without padding, of a fixed number of words, first byte first: whole groups only, so that a
/// value has exactly one spelling.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Six words as 64 characters.
  static func encode(_ words: [UInt64]) -> [UInt8] {
    var text: [UInt8] = []
    var (bits, count) = (UInt128(0), UInt128(0))
    for word in words {
      bits = bits << 64 | UInt128(word)
      count += 64
      while count >= 6 {
        count -= 6
        text.append(alphabet[Int(truncatingIfNeeded: bits >> count & 63)])
      }
    }
    return text
  }

  /// The value of a character, or nil when it's none of the alphabet.
  static func value(of byte: UInt8) -> UInt64? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt64(byte &- UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte &- UInt8(ascii: "a") &+ 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte &- UInt8(ascii: "0") &+ 52)
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
