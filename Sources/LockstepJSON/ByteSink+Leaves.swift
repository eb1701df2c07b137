extension ByteSink where Self: ~Copyable {
  /// Appends a value that has no children, such as a number or `[]`. Returns false for any other.
  @inline(__always)
  mutating func append(leaf value: JSON) -> Bool {
    switch value {
    case .string(let string): append(string: string)
    case .integer(let integer): append(integer: integer)
    case .double(let double): append(double: double)
    case .bool(let bool): append(word: bool ? "true" : "false")
    case .null: append(word: "null")
    case .unsigned(let unsigned): append(unsigned: unsigned)
    case .array(let elements):
      guard elements.isEmpty else { return false }
      append(word: "[]")
    case .object(let object):
      guard object.isEmpty else { return false }
      append(word: "{}")
    }
    return true
  }

  @inline(__always)
  mutating func append(word: StaticString) {
    append(bytes: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  /// Appends a string in quotation marks. Only `"`, `\` and control characters are escaped.
  @inline(__always)
  mutating func append(string: String) { string.withBytes { append(string: $0) } }

  @inline(__always)
  mutating func append(string bytes: UnsafeBufferPointer<UInt8>) {
    append(Ascii.quote)
    append(escaping: bytes)
    append(Ascii.quote)
  }

  @inline(__always)
  private mutating func append(escaping bytes: UnsafeBufferPointer<UInt8>) {
    var runStart = 0
    while true {
      let stop = firstSpecialByte(in: bytes, from: runStart)
      append(bytes: UnsafeBufferPointer(rebasing: bytes[runStart..<stop]))
      guard stop < bytes.count else { return }
      append(escapeOf: bytes[stop])
      runStart = stop + 1
    }
  }

  private mutating func append(escapeOf byte: UInt8) {
    switch byte {
    case Ascii.quote: append(word: "\\\"")
    case Ascii.backslash: append(word: "\\\\")
    case Ascii.lineFeed: append(word: "\\n")
    case Ascii.carriageReturn: append(word: "\\r")
    case Ascii.tab: append(word: "\\t")
    case 0x08: append(word: "\\b")
    case 0x0C: append(word: "\\f")
    default:
      // A control character: the first of the two digits is 0 or 1.
      append(word: "\\u00")
      append(Ascii.zero + byte >> 4)
      let digit = byte & 0xF
      append(digit < 10 ? Ascii.zero + digit : Ascii.letter("a") + digit - 10)
    }
  }

  @inline(__always)
  mutating func append(integer: Int64) {
    if integer < 0 { append(Ascii.minus) }
    append(unsigned: integer.magnitude)
  }

  @inline(__always)
  mutating func append(unsigned: UInt64) {
    if unsigned < 10 {
      append(Ascii.zero + UInt8(truncatingIfNeeded: unsigned))
    } else {
      append(longUnsigned: unsigned)
    }
  }

  private mutating func append(longUnsigned: UInt64) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      // UInt64.max has 20 digits, so `place` never goes below zero.
      var place = 20
      var rest = longUnsigned
      while rest > 0 {
        let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
        place -= 1
        digits.initializeElement(at: place, to: Ascii.zero + UInt8(truncatingIfNeeded: digit))
        rest = quotient
      }
      append(bytes: UnsafeBufferPointer(rebasing: digits[place...]))
    }
  }

  /// Appends the shortest text that parses as the same double, or `null` for infinity and NaN.
  mutating func append(double: Double) {
    guard double.isFinite else { return append(word: "null") }
    double.description.withBytes { append(bytes: $0) }
  }
}
