/// Percent-encoded text, as in URLs.
package enum PercentEncoding {
  /// The text with every character encoded except unreserved ones (RFC 3986, 2.3).
  package static func text(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF")
    return text.utf8.reduce(into: "") { output, byte in
      let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      if isLetter || byte.isDigit || "-._~".utf8.contains(byte) {
        output.unicodeScalars.append(UnicodeScalar(byte))
      } else {
        output.append("%")
        output.append(digits[Int(byte >> 4)])
        output.append(digits[Int(byte & 15)])
      }
    }
  }

  /// The bytes of encoded text; nil if a `%` is not followed by two hexadecimal digits. In a query,
  /// `+` is a space.
  package static func decoded(_ text: ArraySlice<UInt8>, isQuery: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where isQuery: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}
