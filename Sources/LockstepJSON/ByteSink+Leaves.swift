/// How strings, numbers and words are spelled, wherever they are written to.
extension ByteSink where Self: ~Copyable {
  @inline(__always)
  mutating func append(word: StaticString) {
    append(bytes: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  /// A string in quotation marks. Only what must be escaped is: `"`, `\` and control characters.
  @inline(__always)
  mutating func append(string: String) {
    append(Ascii.quote)
    string.withBytes { append(escaping: $0) }
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
      // Only control characters are left, so the first of the two digits is 0 or 1.
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
      // UInt64.max has 20 digits, so the place never goes below zero.
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

  /// The shortest text that reads back as the same double; `null` for what JSON cannot say.
  mutating func append(double: Double) {
    guard double.isFinite else {
      append(word: "null")
      return
    }
    double.description.withBytes { append(bytes: $0) }
  }
}
