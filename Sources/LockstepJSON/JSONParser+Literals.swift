extension JSONParser {
  mutating func parseLiteral(orElse missing: ParseProblem) throws(ParseFault) -> JSON {
    switch bytes[position] {
    case Ascii.letter("t") where skipWord("true"): return .bool(true)
    case Ascii.letter("f") where skipWord("false"): return .bool(false)
    case Ascii.letter("n") where skipWord("null"): return .null
    default: throw fault(problemOfNoValue(orElse: missing))
    }
  }

  private mutating func skipWord(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard count - position >= length else { return false }
    // The guard has checked that the text has `length` more bytes.
    for place in 0..<length where bytes[position + place] != word.utf8Start[place] { return false }
    position += length
    return true
  }

  /// Recognises common mistakes.
  private mutating func problemOfNoValue(orElse missing: ParseProblem) -> ParseProblem {
    switch bytes[position] {
    case Ascii.letter("N") where skipsWord("NaN"), Ascii.letter("I") where skipsWord("Infinity"): .infinityOrNaN
    case Ascii.letter("a")...Ascii.letter("z"), Ascii.letter("A")...Ascii.letter("Z"): .unknownWord
    case Ascii.letter("'"): .apostrophe
    case Ascii.slash: .comment
    case Ascii.plus: .plusSign
    case Ascii.point: .leadingPoint
    case 0x80...0xFF where firstInvalidUTF8(from: position, to: min(position + 4, count)) == position: .invalidUTF8
    default: missing
    }
  }

  /// Whether the word is at `position`. Does not change `position`.
  private mutating func skipsWord(_ word: StaticString) -> Bool {
    let start = position
    defer { position = start }
    return skipWord(word)
  }
}
