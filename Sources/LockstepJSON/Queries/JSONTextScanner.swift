/// Reads a JSON text step by step, without making values. `bytes` must stay valid as long as the
/// scanner lives. Each read checks `position < count` first.
struct JSONTextScanner {
  enum Container { case object, array }

  /// The name of a member in the text, without its quotation marks.
  struct Name {
    var range: Range<Int>
    var hasEscapes: Bool
  }

  private let bytes: UnsafePointer<UInt8>
  private let count: Int
  private(set) var position = 0

  init(_ bytes: UnsafePointer<UInt8>, count: Int) {
    self.bytes = bytes
    self.count = count
  }

  @inline(__always)
  mutating func skipWhitespace() {
    while position < count, bytes[position] <= Ascii.space { position &+= 1 }
  }

  /// Skips this byte and white space before it. Returns false if there is another byte.
  @inline(__always)
  mutating func skip(_ byte: UInt8) -> Bool {
    skipWhitespace()
    guard position < count, bytes[position] == byte else { return false }
    position &+= 1
    return true
  }

  /// Opens the container at the position. Returns nil if there is another value.
  @inline(__always)
  mutating func open() -> Container? {
    if skip(Ascii.openBrace) { return .object }
    return skip(Ascii.openBracket) ? .array : nil
  }

  /// Skips the end of a container. Returns false if there is something else.
  @inline(__always)
  mutating func close(_ container: Container) -> Bool {
    skip(container == .object ? Ascii.closeBrace : Ascii.closeBracket)
  }

  /// Reads a member's name and the colon after it. Returns nil if there is none.
  @inline(__always)
  mutating func readName() -> Name? {
    guard skip(Ascii.quote) else { return nil }
    let start = position
    guard let hasEscapes = skipString() else { return nil }
    let end = position &- 1
    return skip(Ascii.colon) ? Name(range: start..<end, hasEscapes: hasEscapes) : nil
  }

  /// Skips the rest of a string after its first quotation mark. Returns whether it has escapes, or
  /// nil if it does not end.
  @inline(__always)
  private mutating func skipString() -> Bool? {
    var hasEscapes = false
    while true {
      position = firstSpecialByte(in: UnsafeBufferPointer(start: bytes, count: count), from: position)
      guard position < count else { return nil }
      switch bytes[position] {
      case Ascii.quote:
        position &+= 1
        return hasEscapes
      case Ascii.backslash:
        hasEscapes = true
        // The next byte may be a quotation mark that does not end the string.
        position = min(position &+ 2, count)
      default: return nil
      }
    }
  }

  /// Skips a value and white space before it. Returns false if there is none, or none that ends.
  mutating func skipValue() -> Bool {
    skipWhitespace()
    guard position < count else { return false }
    switch bytes[position] {
    case Ascii.quote:
      position &+= 1
      return skipString() != nil
    case Ascii.openBrace, Ascii.openBracket: return skipContainer()
    default:
      let start = position
      while position < count, !Self.endsLiteral(bytes[position]) { position &+= 1 }
      return position > start
    }
  }

  private mutating func skipContainer() -> Bool {
    var depth = 0
    while position < count {
      let byte = bytes[position]
      position &+= 1
      switch byte {
      case Ascii.quote: guard skipString() != nil else { return false }
      case Ascii.openBrace, Ascii.openBracket: depth &+= 1
      case Ascii.closeBrace, Ascii.closeBracket:
        depth &-= 1
        if depth == 0 { return true }
      default: break
      }
    }
    return false
  }

  @inline(__always)
  private static func endsLiteral(_ byte: UInt8) -> Bool {
    byte == Ascii.comma || byte == Ascii.closeBrace || byte == Ascii.closeBracket || byte <= Ascii.space
  }

  /// Whether the text at `range` has the same bytes as a part of `names`.
  @inline(__always)
  func has(_ names: UnsafeBufferPointer<UInt8>, _ name: Range<Int>, at range: Range<Int>) -> Bool {
    guard name.count == range.count else { return false }
    for offset in 0..<range.count where names[name.lowerBound &+ offset] != bytes[range.lowerBound &+ offset] {
      return false
    }
    return true
  }

  /// The bytes of a name with escapes. Returns nil if an escape is invalid.
  func unescaped(_ name: Name) -> [UInt8]? {
    // The quotation marks belong to the text too.
    let quoted = UnsafeBufferPointer(start: bytes + (name.range.lowerBound - 1), count: name.range.count + 2)
    return JSONText(quoted).withString { Array($0) }
  }
}
