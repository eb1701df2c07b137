/// The name of a member, with a fingerprint of its length and some of its bytes. Names with
/// different fingerprints are not equal.
struct ParsedName {
  var string: String
  var fingerprint: UInt64
}

extension JSONParser {
  @inline(__always)
  mutating func parseString() throws(ParseFault) -> String {
    let start = position &+ 1
    let run = scanRun(from: start)
    if run.end < count, bytes[run.end] == Ascii.quote {
      position = run.end &+ 1
      return try makeString(from: start, to: run.end, isAscii: run.isAscii)
    }
    try unescapeString(from: start, firstStop: run.end)
    return makeUnescapedString()
  }

  @inline(__always)
  mutating func parseNameString() throws(ParseFault) -> ParsedName {
    let start = position &+ 1
    let run = scanRun(from: start)
    if run.end < count, bytes[run.end] == Ascii.quote {
      position = run.end &+ 1
      let string = try makeString(from: start, to: run.end, isAscii: run.isAscii)
      return ParsedName(string: string, fingerprint: Self.fingerprint(bytes + start, count: run.end &- start))
    }
    try unescapeString(from: start, firstStop: run.end)
    let fingerprint = unescaped.withUnsafeBufferPointer { buffer in
      buffer.baseAddress.map { Self.fingerprint($0, count: buffer.count) } ?? 0
    }
    return ParsedName(string: makeUnescapedString(), fingerprint: fingerprint)
  }

  /// The end of a run of unescaped bytes, and whether all of them are ASCII.
  @inline(__always)
  private func scanRun(from start: Int) -> (end: Int, isAscii: Bool) {
    var place = start
    var seen: UInt64 = 0
    while place &+ 8 <= count {
      // Eight bytes are left at `place`, by the loop's condition.
      let word = loadWord(bytes + place)
      let marks = marksOfSpecialBytes(word)
      if marks != 0 {
        let length = marks.trailingZeroBitCount / 8
        // The shift removes all bytes but those before the stop.
        if length > 0 { seen |= word << UInt64(64 &- length &* 8) }
        return (place &+ length, seen & 0x8080_8080_8080_8080 == 0)
      }
      seen |= word
      place &+= 8
    }
    while place < count, !isSpecialByte(bytes[place]) {
      seen |= UInt64(bytes[place])
      place &+= 1
    }
    return (place, seen & 0x8080_8080_8080_8080 == 0)
  }

  @inline(__always)
  private func makeString(from start: Int, to end: Int, isAscii: Bool) throws(ParseFault) -> String {
    if !isAscii, let invalid = firstInvalidUTF8(from: start, to: end) {
      throw ParseFault(problem: .invalidUTF8, offset: invalid)
    }
    return Self.makeString(of: bytes + start, count: end &- start)
  }

  /// Makes a string from valid UTF-8, in the fastest way that the standard library has.
  @inline(__always)
  private static func makeString(of source: UnsafePointer<UInt8>, count: Int) -> String {
    String(unsafeUninitializedCapacity: count) { buffer in
      // The buffer has room for `count` bytes, and the caller guarantees as many at the source.
      buffer.baseAddress?.update(from: source, count: count)
      return count
    }
  }

  private mutating func makeUnescapedString() -> String {
    unescaped.withUnsafeBufferPointer { buffer in
      buffer.baseAddress.map { Self.makeString(of: $0, count: buffer.count) } ?? ""
    }
  }

  /// Unescapes a string into `unescaped` and moves `position` to the end of the string.
  private mutating func unescapeString(from start: Int, firstStop: Int) throws(ParseFault) {
    unescaped.removeAll(keepingCapacity: true)
    var runStart = start
    position = firstStop
    while true {
      unescaped.append(contentsOf: UnsafeBufferPointer(start: bytes + runStart, count: position - runStart))
      guard position < count else { throw faultInString(.unfinishedString, from: start) }
      switch bytes[position] {
      case Ascii.quote:
        if let invalid = firstInvalidUTF8(from: start, to: position) {
          throw ParseFault(problem: .invalidUTF8, offset: invalid)
        }
        position += 1
        return
      case Ascii.backslash:
        try unescape(stringStart: start)
      default:
        throw faultInString(.controlCharacter, from: start)
      }
      runStart = position
      position = scanRun(from: position).end
    }
  }

  private mutating func unescape(stringStart: Int) throws(ParseFault) {
    let backslash = position
    position += 1
    guard position < count else { throw faultInString(.unfinishedString, from: stringStart) }
    let byte = bytes[position]
    position += 1
    switch byte {
    case Ascii.quote, Ascii.backslash, Ascii.slash: unescaped.append(byte)
    case Ascii.letter("b"): unescaped.append(0x08)
    case Ascii.letter("f"): unescaped.append(0x0C)
    case Ascii.letter("n"): unescaped.append(Ascii.lineFeed)
    case Ascii.letter("r"): unescaped.append(Ascii.carriageReturn)
    case Ascii.letter("t"): unescaped.append(Ascii.tab)
    case Ascii.letter("u"):
      let scalar = try parseEscapedScalar(backslash: backslash, stringStart: stringStart)
      unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default:
      position -= 1
      throw faultInString(.unknownEscape, from: stringStart)
    }
  }

  /// Parses the digits after `\u`, and the second half of a surrogate pair.
  private mutating func parseEscapedScalar(backslash: Int, stringStart: Int) throws(ParseFault) -> Unicode.Scalar {
    let unit = try parseHexadecimal(stringStart: stringStart)
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00 else {
      position = backslash
      throw faultInString(.loneLowSurrogate, from: stringStart)
    }
    if count - position >= 2, bytes[position] == Ascii.backslash, bytes[position + 1] == Ascii.letter("u") {
      position += 2
      let second = try parseHexadecimal(stringStart: stringStart)
      if (0xDC00...0xDFFF).contains(second),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00))
      {
        return scalar
      }
    }
    position = backslash
    throw faultInString(.loneHighSurrogate, from: stringStart)
  }

  private mutating func parseHexadecimal(stringStart: Int) throws(ParseFault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard position < count else { throw faultInString(.unfinishedString, from: stringStart) }
      let digit: UInt8
      switch bytes[position] {
      case Ascii.zero...Ascii.nine: digit = bytes[position] - Ascii.zero
      case Ascii.letter("a")...Ascii.letter("f"): digit = bytes[position] - Ascii.letter("a") + 10
      case Ascii.letter("A")...Ascii.letter("F"): digit = bytes[position] - Ascii.letter("A") + 10
      default: throw faultInString(.missingHexadecimalDigit, from: stringStart)
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  /// A fault at `position`, or at an earlier byte of the string that is not valid UTF-8.
  private func faultInString(_ problem: ParseProblem, from start: Int) -> ParseFault {
    if let invalid = firstInvalidUTF8(from: start, to: position) {
      return ParseFault(problem: .invalidUTF8, offset: invalid)
    }
    return fault(problem)
  }

  /// - Precondition: `count` bytes can be read at the pointer.
  @inline(__always)
  private static func fingerprint(_ name: UnsafePointer<UInt8>, count: Int) -> UInt64 {
    let length = UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
    if count >= 8 {
      let last = loadWord(name + (count - 8))
      return (loadWord(name) ^ (last << 29 | last >> 35)) &+ length
    }
    var word: UInt64 = 0
    for place in 0..<count { word = word << 8 | UInt64(name[place]) }
    return word &+ length
  }
}
