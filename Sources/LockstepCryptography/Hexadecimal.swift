enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  static func encode(_ bytes: [UInt8]) -> [UInt8] { bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] } }

  /// Nil if the text is not pairs of digits, in either case.
  static func decode(_ text: Substring) -> [UInt8]? {
    let values = text.utf8.map { byte in digits.firstIndex(of: byte | (byte >= 0x41 ? 0x20 : 0)) }
    guard values.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: values.count, by: 2) {
      guard let high = values[place], let low = values[place + 1] else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }
}
