/// Base64 (RFC 4648).
///
/// libsodium 1.0.18 decodes bytes above 0x7F as if they were in the alphabet, so that two texts
/// have one value.
package enum Base64 {
  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let url = Array(standard.dropLast(2)) + Array("-_".utf8)

  /// The value of each byte; 255 for bytes outside the alphabet.
  private static let standardValues = values(of: standard)
  private static let urlValues = values(of: url)

  /// Decodes base64url without padding, as JOSE requires. Nil for any other character, and if
  /// unused bits are set, so that each value has one spelling.
  package static func decodeURL(_ text: ArraySlice<UInt8>) -> [UInt8]? { decode(text, urlValues) }

  package static func decodeURL(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...], urlValues) }

  /// Decodes Base64 with or without padding, with either alphabet, and with `.` for `+` as passlib
  /// writes it.
  static func decode(_ text: Substring) -> [UInt8]? {
    var bytes = Array(text.utf8)
    if bytes.count % 4 == 0 {
      for _ in 0..<2 where bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
    }
    for index in bytes.indices {
      switch bytes[index] {
      case UInt8(ascii: "."), UInt8(ascii: "-"): bytes[index] = UInt8(ascii: "+")
      case UInt8(ascii: "_"): bytes[index] = UInt8(ascii: "/")
      default: break
      }
    }
    return decode(bytes[...], standardValues)
  }

  /// Encodes with the standard alphabet, without padding.
  static func encode(_ bytes: [UInt8]) -> String {
    var (text, bits, count) = ([UInt8](), 0, 0)
    text.reserveCapacity(bytes.count / 3 * 4 + 4)
    for byte in bytes {
      // Only the last bits are needed.
      (bits, count) = (bits << 8 & 0xFFFF | Int(byte), count + 8)
      while count >= 6 {
        count -= 6
        text.append(standard[bits >> count & 63])
      }
    }
    if count > 0 { text.append(standard[bits << (6 - count) & 63]) }
    return String(decoding: text, as: UTF8.self)
  }

  private static func decode(_ text: ArraySlice<UInt8>, _ values: [UInt8]) -> [UInt8]? {
    var (bytes, bits, count) = ([UInt8](), 0, 0)
    bytes.reserveCapacity(text.count / 4 * 3 + 3)
    for byte in text {
      // There is a value for each byte, so no index is outside.
      let value = values[Int(byte)]
      guard value < 64 else { return nil }
      (bits, count) = (bits << 6 & 0xFFFF | Int(value), count + 6)
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    // With six bits left, the last character has no use.
    return count < 6 && bits & (1 << count - 1) == 0 ? bytes : nil
  }

  private static func values(of alphabet: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: .max, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
  }
}
