#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

// What RFC 9110 and RFC 9112 call a byte, as bit sets: one shift and one test a byte, no table in memory.

extension UInt8 {
  /// `tchar`: what a method or a field's name is made of.
  var isTokenByte: Bool { isIn(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }

  /// What a field's value may hold: visible characters, space, tab and everything past ASCII.
  var isFieldValueByte: Bool { self >= 0x20 ? self != 0x7F : self == UInt8(ascii: "\t") }

  /// What a request target may hold: visible ASCII without `#`, which never goes over the wire.
  var isTargetByte: Bool { self > 0x20 && self < 0x7F && self != UInt8(ascii: "#") }

  /// What a registered name may hold (RFC 3986, 3.2.2); a percent sign only before two hexadecimal digits.
  var isRegisteredNameByte: Bool { isIn(0x2BFF_7FF2_0000_0000, 0x47FF_FFFE_87FF_FFFE) }

  var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

  var isSpaceOrTab: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

  var lowercased: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }

  /// The value of a hexadecimal digit, or nil.
  var hexValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private func isIn(_ low: UInt64, _ high: UInt64) -> Bool {
    if self < 64 { return (low >> UInt64(self)) & 1 == 1 }
    return self < 128 && (high >> UInt64(self - 64)) & 1 == 1
  }
}

extension UnsafeRawBufferPointer {
  // A slice stays inside the buffer it was cut from and is used only while that buffer is.
  func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }

  /// Where the first line feed at or behind `start` is.
  func firstLineFeed(from start: Int) -> Int? {
    guard start < count, let base = baseAddress,
      // memchr reads only the `count - start` bytes behind `start`, all of them inside the buffer.
      let found = memchr(base + start, 0x0A, count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  func equals(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount, let base = baseAddress else { return false }
    // Both hold `count` bytes.
    return memcmp(base, literal.utf8Start, count) == 0
  }

  func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count, let base = baseAddress else { return isEmpty && bytes.isEmpty }
    // Both hold `count` bytes.
    return memcmp(base, bytes, count) == 0
  }

  func equalsIgnoringCase(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount else { return false }
    let other = literal.bytes
    for index in 0..<count where self[index].lowercased != other[index].lowercased { return false }
    return true
  }

  /// What follows a prefix, whose letters may be small or large; nil where it isn't there.
  public func behind(prefix: StaticString) -> UnsafeRawBufferPointer? {
    let length = prefix.utf8CodeUnitCount
    guard count >= length, slice(0..<length).equalsIgnoringCase(prefix) else { return nil }
    return slice(length..<count)
  }

  /// The same bytes without the spaces and tabs around them.
  func trimmed() -> UnsafeRawBufferPointer {
    var range = startIndex..<endIndex
    while let first = range.first, self[first].isSpaceOrTab { range = range.dropFirst() }
    while let last = range.last, self[last].isSpaceOrTab { range = range.dropLast() }
    return slice(range)
  }

  /// Each element of a comma-separated list (RFC 9110, 5.6.1), trimmed; empty elements are passed over.
  func forEachListElement(_ body: (UnsafeRawBufferPointer) -> Void) {
    var rest = self
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.count
      let element = rest.slice(0..<end).trimmed()
      if !element.isEmpty { body(element) }
      rest = rest.slice(Swift.min(end + 1, rest.count)..<rest.count)
    }
  }
}

extension StaticString {
  // A literal of more than one scalar is stored as UTF-8 for the life of the process; of a single one it isn't,
  // and no name or status line of ours is that short.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
