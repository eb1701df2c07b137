/// The text of one JSON value. Reads a string or a number without making the rest of the document.
///
/// It must not outlive the buffer that it was made from. It expects a value that a server has written.
/// Any other text may seem to be another value, but no byte outside is read.
package struct JSONText {
  package enum Kind: Sendable {
    case null
    case `false`
    case `true`
    case number
    case string
    case array
    case object
  }

  private let bytes: UnsafeBufferPointer<UInt8>

  package init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  /// The length in bytes.
  package var count: Int { bytes.count }

  /// The kind of the value. Nil for an empty text.
  @inline(__always)
  package var kind: Kind? {
    guard let first = bytes.first else { return nil }
    return switch first {
    case Ascii.quote: .string
    case Ascii.openBrace: .object
    case Ascii.openBracket: .array
    case Ascii.letter("n"): .null
    case Ascii.letter("t"): .true
    case Ascii.letter("f"): .false
    default: .number
    }
  }

  /// The value.
  package var value: JSON? { try? JSON(parsing: UnsafeRawBufferPointer(bytes), maximumDepth: JSON.highestDepth) }

  /// The number. Nil for another value.
  @inline(__always)
  package var number: JSON? { smallInteger.map(JSON.integer) ?? otherNumber }

  /// An integer of at most 18 digits, which always fits into 64 bits.
  @inline(__always)
  var smallInteger: Int64? {
    var place = 0
    let isNegative = bytes.first == Ascii.minus
    if isNegative { place = 1 }
    guard bytes.count > place, bytes.count &- place <= 18 else { return nil }
    var value: Int64 = 0
    while place < bytes.count {
      guard Ascii.isDigit(bytes[place]) else { return nil }
      value = value &* 10 &+ Int64(bytes[place] &- Ascii.zero)
      place &+= 1
    }
    // `-0` is a double.
    return isNegative ? (value == 0 ? nil : 0 &- value) : value
  }

  private var otherNumber: JSON? {
    switch value {
    case .some(.integer), .some(.unsigned), .some(.double): value
    default: nil
    }
  }

  /// Passes the UTF-8 of a string to `body`, without its escapes. Returns nil for another value.
  package func withString<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
    guard bytes.count >= 2, bytes[0] == Ascii.quote, bytes[bytes.count - 1] == Ascii.quote else { return nil }
    let content = UnsafeBufferPointer(rebasing: bytes[1..<(bytes.count - 1)])
    if firstSpecialByte(in: content, from: 0) == content.count { return body(content) }
    guard case .string(let text)? = value else { return nil }
    return text.withBytes(body)
  }

  /// Whether `isFound` returns true for an element of an array. False for another value.
  package func contains(where isFound: (JSONText) -> Bool) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    // The scanner does not outlive this call, and the buffer is valid during it.
    var scanner = JSONTextScanner(base, count: bytes.count)
    guard scanner.open() == .array else { return false }
    var isFirst = true
    while !scanner.close(.array) {
      if !isFirst, !scanner.skip(Ascii.comma) { return false }
      isFirst = false
      scanner.skipWhitespace()
      let start = scanner.position
      guard scanner.skipValue() else { return false }
      if isFound(JSONText(UnsafeBufferPointer(rebasing: bytes[start..<scanner.position]))) { return true }
    }
    return false
  }
}
