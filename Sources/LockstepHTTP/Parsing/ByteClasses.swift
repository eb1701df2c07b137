#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

// Byte classes of RFC 3986, 9110 and 9112. Irregular classes are bit sets, tested by one shift.

extension UInt8 {
  /// `tchar`: a byte of a method or of a field's name.
  var isTokenByte: Bool { isIn(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }

  /// A byte of a field's value: visible characters, space, tab and all bytes from 0x80 on.
  var isFieldValueByte: Bool { self >= 0x20 ? self != 0x7F : self == UInt8(ascii: "\t") }

  /// A byte of a request target: visible ASCII without `#`, because a target has no fragment.
  var isTargetByte: Bool { self > 0x20 && self < 0x7F && self != UInt8(ascii: "#") }

  /// A byte of a registered name (RFC 3986, 3.2.2). `Authority` checks the digits after `%`.
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
  // Callers pass a range inside the buffer, and use the slice only while the buffer is valid.
  package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }

  /// The end of the run of matching bytes that begins at `start`.
  @inline(__always)
  func endOfRun(from start: Int, to end: Int, _ matches: (UInt8) -> Bool) -> Int {
    var index = start
    while index < end, matches(self[index]) { index += 1 }
    return index
  }

  /// The position of the first byte in `range` that a field's value must not contain, or nil.
  func firstControl(in range: Range<Int>) -> Int? {
    var index = range.lowerBound
    // Nearly every value has only visible characters, so 32 bytes, and then eight, are checked at once.
    while index + 32 <= range.upperBound,
      !loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self).hasControlByte
    {
      index += 32
    }
    while index + 8 <= range.upperBound, !loadUnaligned(fromByteOffset: index, as: UInt64.self).hasControlByte {
      index += 8
    }
    index = endOfRun(from: index, to: range.upperBound) { $0.isFieldValueByte }
    return index < range.upperBound ? index : nil
  }

  /// Whether all bytes are ASCII.
  var isASCII: Bool {
    var index = 0
    while index + 8 <= count, loadUnaligned(fromByteOffset: index, as: UInt64.self) & .highBits == 0 { index += 8 }
    return endOfRun(from: index, to: count) { $0 < 0x80 } == count
  }

  /// The position of the first line feed at or after `start`.
  func firstLineFeed(from start: Int) -> Int? {
    guard start < count, let base = baseAddress,
      // memchr reads only the `count - start` bytes from `start` on, all inside the buffer.
      let found = memchr(base + start, 0x0A, count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  package func equals(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount, let base = baseAddress else { return false }
    // Both hold `count` bytes.
    return memcmp(base, literal.utf8Start, count) == 0
  }

  package func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count, let base = baseAddress else { return isEmpty && bytes.isEmpty }
    // Both hold `count` bytes.
    return memcmp(base, bytes, count) == 0
  }

  func equalsIgnoringCase(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount else { return false }
    // Nearly all clients write the usual case.
    if equals(literal) { return true }
    let other = literal.bytes
    for index in 0..<count where self[index].lowercased != other[index].lowercased { return false }
    return true
  }

  /// The bytes after `prefix`, compared ignoring case; nil if the bytes do not begin with it.
  public func behind(prefix: StaticString) -> UnsafeRawBufferPointer? {
    let length = prefix.utf8CodeUnitCount
    guard count >= length, slice(0..<length).equalsIgnoringCase(prefix) else { return nil }
    return slice(length..<count)
  }

  /// `range` without the spaces and tabs at its beginning and end.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, self[start].isSpaceOrTab { start += 1 }
    while end > start, self[end - 1].isSpaceOrTab { end -= 1 }
    return start..<end
  }

  /// Calls `body` with each element of a comma-separated list (RFC 9110, 5.6.1), trimmed. Skips
  /// empty elements. A comma in a quoted string does not end an element.
  func forEachListElement(_ body: (UnsafeRawBufferPointer) -> Void) {
    var start = 0
    while start < count {
      let end = self[start...].indexOutsideQuotes(of: UInt8(ascii: ",")) ?? count
      let element = slice(trimmed(start..<end))
      if !element.isEmpty { body(element) }
      start = end + 1
    }
  }
}

extension Collection<UInt8> {
  /// The first index of a byte that is in no quoted string (RFC 9110, 5.6.4). A string that is not
  /// closed goes on to the end.
  func indexOutsideQuotes(of byte: UInt8) -> Index? {
    var (isQuoted, isEscaped) = (false, false)
    for (index, next) in zip(indices, self) {
      if isEscaped {
        isEscaped = false
      } else if next == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if isQuoted {
        isEscaped = next == UInt8(ascii: "\\")
      } else if next == byte {
        return index
      }
    }
    return nil
  }
}

extension UInt64 {
  fileprivate static let highBits: UInt64 = 0x8080_8080_8080_8080
  fileprivate static let ones: UInt64 = 0x0101_0101_0101_0101

  /// Whether one of the eight bytes is below 0x20 or is 0x7F. A subtraction sets the high bit of
  /// each byte that is less than what is subtracted. It may also borrow from the bytes above such a
  /// byte, but not if there is none.
  fileprivate var hasControlByte: Bool {
    let deleted = self ^ (Self.ones &* 0x7F)
    return ((self &- Self.ones &* 0x20) & ~self | (deleted &- Self.ones) & ~deleted) & .highBits != 0
  }
}

extension SIMD4<UInt64> {
  /// The same for 32 bytes. Inlined, because a call would pass them through memory.
  @inline(__always)
  fileprivate var hasControlByte: Bool {
    let deleted = self ^ (UInt64.ones &* 0x7F)
    let marks = (self &- UInt64.ones &* 0x20) & ~self | (deleted &- UInt64.ones) & ~deleted
    return (marks.x | marks.y | marks.z | marks.w) & .highBits != 0
  }
}

extension StaticString {
  // A literal of more than one scalar is stored as UTF-8 for the life of the process. Every name
  // and status line of this server has more than one scalar.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
