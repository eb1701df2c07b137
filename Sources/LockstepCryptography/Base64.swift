import CLockstepSodium

/// Base64 (RFC 4648).
package enum Base64 {
  /// Decodes base64url without padding, as JOSE requires. Nil for any other character, and if unused bits are set, so
  /// that each value has one spelling.
  package static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
    decode(Array(text), sodium_base64_VARIANT_URLSAFE_NO_PADDING)
  }

  /// Decodes Base64 with or without padding, with either alphabet, and with `.` for `+` as passlib writes it.
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
    return decode(bytes, sodium_base64_VARIANT_ORIGINAL_NO_PADDING)
  }

  /// Encodes with the standard alphabet, without padding.
  static func encode(_ bytes: [UInt8]) -> String { encode(bytes, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) }

  /// Encodes as base64url without padding.
  package static func encodeURL(_ bytes: [UInt8]) -> String { encode(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING) }

  private static func encode(_ bytes: [UInt8], _ variant: Int32) -> String {
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    // The text has the length that the library asks for, with a zero byte at its end.
    sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    return String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func decode(_ text: [UInt8], _ variant: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 3)
    let capacity = bytes.count
    var count = 0
    let code = text.withUnsafeBufferPointer { text in
      text.withMemoryRebound(to: CChar.self) {
        sodium_base642bin(&bytes, capacity, $0.baseAddress, $0.count, nil, &count, nil, variant)
      }
    }
    return code == 0 ? Array(bytes.prefix(count)) : nil
  }
}

enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  static func encode(_ bytes: [UInt8]) -> [UInt8] { bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] } }

  /// Nil if the text is not pairs of digits.
  static func decode(_ text: Substring) -> [UInt8]? {
    let text = Array(text.utf8)
    guard text.count % 2 == 0, text.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    return stride(from: 0, to: text.count, by: 2).compactMap { place in
      UInt8(String(decoding: text[place..<place + 2], as: UTF8.self), radix: 16)
    }
  }
}
