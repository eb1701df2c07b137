/// Loads eight bytes so that the lowest byte of the word is the first in memory.
///
/// - Precondition: Eight bytes can be read at the pointer.
@inline(__always)
func loadWord(_ pointer: UnsafePointer<UInt8>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt64.self))
}

/// Returns a word with the highest bit set in the first byte that a JSON string must escape: a
/// control character, a quotation mark or a backslash. Returns zero if there is none. Only the
/// lowest mark is exact: a borrow in the subtraction can set marks above it.
@inline(__always)
func marksOfSpecialBytes(_ word: UInt64) -> UInt64 {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let highBits: UInt64 = 0x8080_8080_8080_8080
  let quotes = word ^ (ones &* 0x22)
  let backslashes = word ^ (ones &* 0x5C)
  let control = (word &- ones &* 0x20) & ~word
  let quote = (quotes &- ones) & ~quotes
  let backslash = (backslashes &- ones) & ~backslashes
  return (control | quote | backslash) & highBits
}

@inline(__always)
func isSpecialByte(_ byte: UInt8) -> Bool { byte < 0x20 || byte == Ascii.quote || byte == Ascii.backslash }

/// The index of the first byte from `start` that must be escaped, or the count if there is none.
@inline(__always)
func firstSpecialByte(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  let count = bytes.count
  var place = start
  while place &+ 8 <= count {
    // Eight bytes are left at `place`, by the loop's condition.
    let marks = marksOfSpecialBytes(loadWord(base + place))
    if marks != 0 { return place &+ marks.trailingZeroBitCount / 8 }
    place &+= 8
  }
  while place < count, !isSpecialByte(base[place]) { place &+= 1 }
  return place
}

extension String {
  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    // Only strings from another runtime (Objective-C) are not contiguous.
    var copy = self
    return copy.withUTF8(body)
  }

  /// Compares UTF-8 bytes. `==` would also accept canonically equivalent strings.
  @inline(__always)
  package func hasSameBytes(as other: String) -> Bool {
    countOperations()
    guard utf8.count == other.utf8.count else { return false }
    return withBytes { left in other.withBytes { right in areEqual(left, right) } }
  }

  /// Orders by the UTF-8 bytes.
  package func precedesInBytes(_ other: String) -> Bool {
    withBytes { left in other.withBytes { left.lexicographicallyPrecedes($0) } }
  }

  @inline(__always)
  package func hashBytes(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8(0xFF))
  }
}

@inline(__always)
private func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
  guard let leftBase = left.baseAddress, let rightBase = right.baseAddress, left.count == right.count else {
    return left.count == right.count
  }
  let count = left.count
  var place = 0
  while place &+ 8 <= count {
    // Eight bytes are left at `place` in both, by the loop's condition.
    guard loadWord(leftBase + place) == loadWord(rightBase + place) else { return false }
    place &+= 8
  }
  while place < count {
    guard leftBase[place] == rightBase[place] else { return false }
    place &+= 1
  }
  return true
}

enum Ascii {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let space: UInt8 = 0x20
  static let quote: UInt8 = 0x22
  static let plus: UInt8 = 0x2B
  static let comma: UInt8 = 0x2C
  static let minus: UInt8 = 0x2D
  static let point: UInt8 = 0x2E
  static let slash: UInt8 = 0x2F
  static let zero: UInt8 = 0x30
  static let nine: UInt8 = 0x39
  static let colon: UInt8 = 0x3A
  static let openBracket: UInt8 = 0x5B
  static let backslash: UInt8 = 0x5C
  static let closeBracket: UInt8 = 0x5D
  static let openBrace: UInt8 = 0x7B
  static let closeBrace: UInt8 = 0x7D

  @inline(__always)
  static func letter(_ scalar: Unicode.Scalar) -> UInt8 { UInt8(truncatingIfNeeded: scalar.value) }

  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- zero <= 9 }
}
