/// IP addresses by RFC 3986, for the hosts of URIs and the domains of e-mail addresses.
enum IPAddressFormat {
  /// Four numbers from 0 to 255 without unnecessary zeros.
  static func isV4(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // The longest is 255.255.255.255.
    guard bytes.count <= 15 else { return false }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        guard let first = part.first, part.count <= 3, part.allSatisfy(isDigit) else { return false }
        guard first != UInt8(ascii: "0") || part.count == 1 else { return false }
        return part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
      }
  }

  /// Eight groups of up to four hexadecimal digits. The last two can be an IPv4 address, and `::` stands
  /// for at least one group of zeros.
  static func isV6(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // The longest has six groups and an IPv4 address.
    guard bytes.count <= 45 else { return false }
    var (place, groups, hasGap) = (0, 0, false)
    if starts(bytes, at: 0) {
      (place, hasGap) = (2, true)
    }
    while place < bytes.count {
      let start = place
      while place < bytes.count, isHexDigit(bytes[place]) { place += 1 }
      if place < bytes.count, bytes[place] == UInt8(ascii: ".") {
        guard isV4(UnsafeBufferPointer(rebasing: bytes[start...])) else { return false }
        groups += 2
        break
      }
      guard (1...4).contains(place - start) else { return false }
      groups += 1
      guard place < bytes.count else { break }
      guard bytes[place] == UInt8(ascii: ":") else { return false }
      if starts(bytes, at: place) {
        guard !hasGap else { return false }
        (place, hasGap) = (place + 2, true)
      } else {
        place += 1
        guard place < bytes.count else { return false }
      }
    }
    return hasGap ? groups <= 7 : groups == 8
  }

  /// Whether a `::` is there.
  private static func starts(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> Bool {
    place + 1 < bytes.count && bytes[place] == UInt8(ascii: ":") && bytes[place + 1] == UInt8(ascii: ":")
  }
}
