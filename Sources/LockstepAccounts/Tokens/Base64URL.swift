/// base64url (RFC 4648, 5) without padding, in groups of 48 bits. So each value has one spelling.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The value of each byte; 255 for bytes outside the alphabet.
  static let values: [UInt8] = {
    var values = [UInt8](repeating: .max, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
  }()

  /// Encodes words, their highest bits first. The number of words must be divisible by 3.
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

  /// Decodes 64 characters to eight groups of 48 bits; nil if there are not 64 characters, or one
  /// is outside the alphabet.
  static func decode64(_ text: UnsafeRawBufferPointer) -> SIMD8<UInt64>? {
    guard text.count == 64 else { return nil }
    // There is a value for each byte, so no index is outside.
    return values.withUnsafeBufferPointer { values in
      var groups = SIMD8<UInt64>()
      var all: UInt8 = 0
      for group in 0..<8 {
        var bits: UInt64 = 0
        for index in group * 8..<group * 8 + 8 {
          let value = values[Int(text[index])]
          all |= value
          bits = bits << 6 | UInt64(value & 63)
        }
        groups[group] = bits
      }
      return all < 64 ? groups : nil
    }
  }
}
