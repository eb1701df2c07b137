import LockstepHTTP

/// What can still be made out of bytes that were refused as a request.
enum RefusedHead {
  /// Whether it would have been a `HEAD`, whose answer has no body. Empty lines may stand before it.
  static func isHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.starts(with: "HEAD ".utf8)
  }

  /// The value of the first `Origin` line among the first lines, if it may be one: it decides whether a page may read why
  /// its request was refused.
  static func origin(in bytes: UnsafeRawBufferPointer) -> String? {
    for line in bytes.prefix(64 * 1024).split(separator: UInt8(ascii: "\n"), maxSplits: 200).dropFirst() {
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      guard name.count == 6, String(decoding: name, as: UTF8.self).lowercased() == "origin" else { continue }
      let value = line.dropFirst(7).drop { $0 == UInt8(ascii: " ") }.prefix { $0 > 0x20 && $0 < 0x7F }
      return String(decoding: value, as: UTF8.self)
    }
    return nil
  }
}
