/// base64url (RFC 4648, 5) without padding, of whole words only, so that a value has exactly one spelling.
enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// What each byte stands for; 255 for one that isn't of the alphabet.
  static let values: [UInt8] = {
    var values = [UInt8](repeating: .max, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
  }()

  /// The words, first byte first. Their number is to be one that is divisible by 3.
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

  /// The 48 bits that the next eight characters stand for by `values`, which the caller has at hand since looking them up
  /// each time would cost more than all the rest; nil when one isn't of the alphabet, or missing.
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
