/// A host and an optional port, in the field `Host` or in an absolute target (RFC 3986, 3.2.2 and
/// 3.2.3). A value that this server and a proxy could read differently is refused (RFC 9112, 3.2).
enum Authority {
  /// The length of the host, which may be 0; nil if the bytes are not a host with an optional port.
  static func hostLength(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let end = bytes.first == UInt8(ascii: "[") ? addressEnd(in: bytes) : nameEnd(in: bytes) else { return nil }
    guard end < bytes.count else { return end }
    guard bytes[end] == UInt8(ascii: ":") else { return nil }
    for index in end + 1..<bytes.count where !bytes[index].isDigit { return nil }
    return end
  }

  private static func nameEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
    let end = bytes.endOfRun(from: 0, to: bytes.count) { $0.isRegisteredNameByte }
    for index in 0..<end where bytes[index] == UInt8(ascii: "%") {
      guard index + 2 < end, bytes[index + 1].hexValue != nil, bytes[index + 2].hexValue != nil else { return nil }
    }
    return end
  }

  // Accepts only IPv6 addresses in brackets, because no other form in brackets is in use.
  private static func addressEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
    let end = bytes.endOfRun(from: 1, to: bytes.count) {
      $0.hexValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
    }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "]") else { return nil }
    return bytes[..<end].count(where: { $0 == UInt8(ascii: ":") }) >= 2 ? end + 1 : nil
  }
}
