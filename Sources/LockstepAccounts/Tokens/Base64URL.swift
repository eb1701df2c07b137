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

  /// The 48 bits of the next eight characters; nil if one is missing or outside the alphabet. The
  /// caller passes `values`, because reading the static property here costs more than decoding.
  @inline(__always)
  static func decodeEight(_ bytes: inout some IteratorProtocol<UInt8>, by values: [UInt8]) -> UInt64? {
    var (bits, all) = (UInt64(0), UInt8(0))
    for _ in 0..<8 {
      guard let byte = bytes.next() else { return nil }
      let value = values[Int(byte)]
      all |= value
      bits = bits << 6 | UInt64(value & 63)
    }
    return all < 64 ? bits : nil
  }
}
