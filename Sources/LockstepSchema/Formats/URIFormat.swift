/// URIs with a scheme, by RFC 3986. They can have a fragment.
enum URIFormat {
  private static let scheme = ASCIISet(alphanumericsAnd: "+-.")
  private static let userInfo = ASCIISet(alphanumericsAnd: "-._~!$&'()*+,;=:")
  private static let name = ASCIISet(alphanumericsAnd: "-._~!$&'()*+,;=")
  private static let path = ASCIISet(alphanumericsAnd: "-._~!$&'()*+,;=:@/")
  private static let query = ASCIISet(alphanumericsAnd: "-._~!$&'()*+,;=:@/?")

  static func isURI(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, isLetter(bytes[0]),
      bytes[..<colon].allSatisfy(scheme.contains)
    else { return false }
    var rest = bytes[(colon + 1)...]
    if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
      guard consists(rest[(hash + 1)...], of: query) else { return false }
      rest = rest[..<hash]
    }
    if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
      guard consists(rest[(mark + 1)...], of: query) else { return false }
      rest = rest[..<mark]
    }
    if rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      guard isAuthority(rest[..<end]) else { return false }
      rest = rest[end...]
    }
    return consists(rest, of: path)
  }

  /// `user@host:port`.
  private static func isAuthority(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = bytes
    if let mark = rest.firstIndex(of: UInt8(ascii: "@")) {
      guard consists(rest[..<mark], of: userInfo) else { return false }
      rest = rest[(mark + 1)...]
    }
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
      guard isAddress(rest[(rest.startIndex + 1)..<end]) else { return false }
      rest = rest[(end + 1)...]
      guard let colon = rest.first else { return true }
      return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(isDigit)
    }
    guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return consists(rest, of: name) }
    return consists(rest[..<colon], of: name) && rest[(colon + 1)...].allSatisfy(isDigit)
  }

  /// An IPv6 address, or one of a later version such as `v7.address`.
  private static func isAddress(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard let first = bytes.first, first | 0x20 == UInt8(ascii: "v") else {
      return IPAddressFormat.isV6(UnsafeBufferPointer(rebasing: bytes))
    }
    guard let point = bytes.firstIndex(of: UInt8(ascii: ".")) else { return false }
    let version = bytes[(bytes.startIndex + 1)..<point]
    let address = bytes[(point + 1)...]
    return !version.isEmpty && version.allSatisfy(isHexDigit) && !address.isEmpty
      && address.allSatisfy(userInfo.contains)
  }

  /// Whether there are only characters of the set, and complete percent-escapes.
  private static func consists(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, of set: ASCIISet) -> Bool {
    var place = bytes.startIndex
    while place < bytes.endIndex {
      if bytes[place] == UInt8(ascii: "%") {
        guard place + 2 < bytes.endIndex, isHexDigit(bytes[place + 1]), isHexDigit(bytes[place + 2]) else {
          return false
        }
        place += 3
      } else {
        guard set.contains(bytes[place]) else { return false }
        place += 1
      }
    }
    return true
  }
}
