/// The values of `format`.
enum StringFormat: String, CaseIterable, Sendable {
  case dateTime = "date-time"
  case date, email, uri, uuid

  func matches(_ string: String) -> Bool {
    withBytes(of: string) { bytes in
      switch self {
      case .dateTime: DateFormat.isDateTime(bytes)
      case .date: DateFormat.isDate(bytes)
      case .email: EmailFormat.isMailbox(bytes)
      case .uri: URIFormat.isURI(bytes)
      case .uuid: isUUID(bytes)
      }
    }
  }

  /// RFC 9562's text form, with any version.
  private func isUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count == 36 else { return false }
    return bytes.indices.allSatisfy { place in
      let isHyphen = place == 8 || place == 13 || place == 18 || place == 23
      return isHyphen ? bytes[place] == UInt8(ascii: "-") : isHexDigit(bytes[place])
    }
  }
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") <= 9 }

@inline(__always)
func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 &- UInt8(ascii: "a") < 26 }

@inline(__always)
func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || byte | 0x20 &- UInt8(ascii: "a") < 6 }

/// A set of ASCII characters.
struct ASCIISet: Sendable {
  private let low: UInt64
  private let high: UInt64

  /// Letters and digits, and these characters.
  init(alphanumericsAnd others: StaticString) {
    var bits: (low: UInt64, high: UInt64) = (0, 0)
    for byte in UInt8(0)..<128 {
      let isOther = others.withUTF8Buffer { $0.contains(byte) }
      guard isDigit(byte) || isLetter(byte) || isOther else { continue }
      if byte < 64 { bits.low |= 1 << byte } else { bits.high |= 1 << (byte - 64) }
    }
    (low, high) = bits
  }

  @inline(__always)
  func contains(_ byte: UInt8) -> Bool {
    byte < 64 ? low >> byte & 1 == 1 : byte < 128 && high >> (byte - 64) & 1 == 1
  }
}
