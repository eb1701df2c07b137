/// Mailboxes by RFC 5321: a local part of atoms or in quotation marks, and a domain or an IP address in
/// brackets. All of it is ASCII.
enum EmailFormat {
  private static let atom = ASCIISet(alphanumericsAnd: "!#$%&'*+-/=?^_`{|}~")
  private static let longestLocalPart = 64
  private static let longestDomain = 255
  private static let longestLabel = 63

  static func isMailbox(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // A domain contains no "@".
    guard bytes.count <= longestLocalPart + 1 + longestDomain,
      let separator = bytes.lastIndex(of: UInt8(ascii: "@"))
    else { return false }
    let local = UnsafeBufferPointer(rebasing: bytes[..<separator])
    let domain = UnsafeBufferPointer(rebasing: bytes[(separator + 1)...])
    return isLocalPart(local) && (isDomain(domain) || isAddress(domain))
  }

  private static func isLocalPart(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard (1...longestLocalPart).contains(bytes.count) else { return false }
    if bytes[0] == UInt8(ascii: "\"") { return isQuoted(bytes) }
    var isAfterAtom = false
    for byte in bytes {
      if byte == UInt8(ascii: ".") {
        guard isAfterAtom else { return false }
        isAfterAtom = false
      } else {
        guard atom.contains(byte) else { return false }
        isAfterAtom = true
      }
    }
    return isAfterAtom
  }

  /// Printable ASCII in quotation marks, with a backslash before each quotation mark and backslash.
  private static func isQuoted(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= 2, bytes[bytes.count - 1] == UInt8(ascii: "\"") else { return false }
    var isEscaped = false
    for byte in bytes[1..<(bytes.count - 1)] {
      guard (0x20..<0x7F).contains(byte) else { return false }
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        return false
      }
    }
    return !isEscaped
  }

  /// Labels of letters, digits and hyphens, with a letter or digit at both ends.
  private static func isDomain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard (1...longestDomain).contains(bytes.count) else { return false }
    var (labelStart, last) = (0, UInt8(ascii: "-"))
    for (place, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "."):
        // The label is not empty, because a hyphen stands for the character before its first.
        guard last != UInt8(ascii: "-"), place - labelStart <= longestLabel else { return false }
        labelStart = place + 1
        last = UInt8(ascii: "-")
        continue
      case UInt8(ascii: "-"): guard place > labelStart else { return false }
      default: guard isLetter(byte) || isDigit(byte) else { return false }
      }
      last = byte
    }
    return last != UInt8(ascii: "-") && bytes.count - labelStart <= longestLabel
  }

  /// `[192.0.2.1]` or `[IPv6:2001:db8::1]`.
  private static func isAddress(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "["), bytes[bytes.count - 1] == UInt8(ascii: "]") else {
      return false
    }
    let inside = UnsafeBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])
    let tag: StaticString = "ipv6:"
    let hasTag = tag.withUTF8Buffer { tag in
      inside.count > tag.count
        && tag.indices.allSatisfy { (isLetter(inside[$0]) ? inside[$0] | 0x20 : inside[$0]) == tag[$0] }
    }
    guard hasTag else { return IPAddressFormat.isV4(inside) }
    return IPAddressFormat.isV6(UnsafeBufferPointer(rebasing: inside[5...]))
  }
}
