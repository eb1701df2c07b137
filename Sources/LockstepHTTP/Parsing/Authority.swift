/// A host and maybe a port, as `Host` and an absolute target name them (RFC 3986, 3.2.2 and 3.2.3).
///
/// Whoever stands before us may choose a backend, or what to cache, by it: one that two could read in two ways is
/// refused (RFC 9112, 3.2).
enum Authority {
  /// How long the host in it is, which may be empty; nil when the bytes aren't a host and a port.
  static func hostLength(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let end = bytes.first == UInt8(ascii: "[") ? addressEnd(in: bytes) : nameEnd(in: bytes) else { return nil }
    guard end < bytes.count else { return end }
    guard bytes[end] == UInt8(ascii: ":") else { return nil }
    for index in end + 1..<bytes.count where !bytes[index].isDigit { return nil }
    return end
  }

  private static func nameEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
    var index = 0
    while index < bytes.count, bytes[index].isRegisteredNameByte {
      if bytes[index] == UInt8(ascii: "%") {
        guard index + 2 < bytes.count, bytes[index + 1].hexValue != nil, bytes[index + 2].hexValue != nil else {
          return nil
        }
      }
      index += 1
    }
    return index
  }

  // Of what may stand in brackets only IPv6 is there: no other version of an address was ever given a meaning.
  private static func addressEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
    var index = 1
    var colons = 0
    while index < bytes.count, bytes[index] != UInt8(ascii: "]") {
      guard bytes[index].hexValue != nil || bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: ".")
      else {
        return nil
      }
      if bytes[index] == UInt8(ascii: ":") { colons += 1 }
      index += 1
    }
    return index < bytes.count && colons >= 2 ? index + 1 : nil
  }
}
