/// What the parser throws inside: cheap to make; the line, the column and the sentence are worked out later.
struct ParseFault: Error {
  var problem: ParseProblem
  var offset: Int
}

/// Everything that the parser can find wrong.
enum ParseProblem {
  case emptyText
  case byteOrderMark
  case missingValue
  case missingValueAfterComma
  case missingNameAfterComma
  case missingNameOrBrace
  case missingColon
  case missingCommaOrBracket
  case missingCommaOrBrace
  case unfinishedString
  case unknownWord
  case infinityOrNaN
  case apostrophe
  case comment
  case plusSign
  case leadingPoint
  case leadingZero
  case missingDigit
  case missingFractionDigit
  case missingExponentDigit
  case controlCharacter
  case unknownEscape
  case missingHexadecimalDigit
  case loneHighSurrogate
  case loneLowSurrogate
  case invalidUTF8
  case trailingContent
  case tooDeep(limit: Int)
  case integerOutOfRange
  case doubleTooLarge
  case doubleTooSmall

  func sentence(found: String) -> String {
    switch self {
    case .emptyText: "The text is empty; it must hold one JSON value."
    case .byteOrderMark: "The text begins with a byte order mark; send UTF-8 without one."
    case .missingValue: "A value must stand here, but here is \(found)."
    case .missingValueAfterComma: "A value must follow the comma, but here is \(found)."
    case .missingNameAfterComma: "A name in quotation marks must follow the comma, but here is \(found)."
    case .missingNameOrBrace: "A name in quotation marks or \"}\" must follow \"{\", but here is \(found)."
    case .missingColon: "A colon must follow the name, but here is \(found)."
    case .missingCommaOrBracket: "A comma or \"]\" must follow the element, but here is \(found)."
    case .missingCommaOrBrace: "A comma or \"}\" must follow the member, but here is \(found)."
    case .unfinishedString: "The string has no closing quotation mark."
    case .unknownWord: "Of words, JSON has only true, false and null."
    case .infinityOrNaN: "JSON has no infinity and no NaN; send null or leave the member out."
    case .apostrophe: "Strings stand in quotation marks, not in apostrophes."
    case .comment: "JSON has no comments."
    case .plusSign: "A number must not begin with a plus sign."
    case .leadingPoint: "A number must not begin with a point; write a zero before it."
    case .leadingZero: "A number must not begin with a needless zero."
    case .missingDigit: "A digit must follow the minus sign, but here is \(found)."
    case .missingFractionDigit: "A digit must follow the decimal point, but here is \(found)."
    case .missingExponentDigit: "The exponent needs a digit, but here is \(found)."
    case .controlCharacter: "A string must not hold the control character \(found) unless it is escaped."
    case .unknownEscape: "A backslash must not be followed by \(found) in a string."
    case .missingHexadecimalDigit: "Four hexadecimal digits must follow \"\\u\", but here is \(found)."
    case .loneHighSurrogate: "The first half of a surrogate pair must be followed by the second."
    case .loneLowSurrogate: "The second half of a surrogate pair must follow the first."
    case .invalidUTF8: "The text must be UTF-8, but here is \(found)."
    case .trailingContent: "The text must end after the value, but here is \(found)."
    case .tooDeep(let limit): "Arrays and objects must not be nested deeper than \(limit)."
    case .integerOutOfRange: "The integer is outside of what 64 bits hold (\(Int64.min) to \(UInt64.max))."
    case .doubleTooLarge: "The number is too large for a double."
    case .doubleTooSmall: "The number is too near to zero for a double, and isn't zero."
    }
  }

  var kind: JSONParseError.Kind {
    switch self {
    case .emptyText: .emptyText
    case .byteOrderMark: .byteOrderMark
    case .missingValue, .missingValueAfterComma, .missingNameAfterComma, .missingNameOrBrace, .missingColon,
      .missingCommaOrBracket, .missingCommaOrBrace, .apostrophe, .comment:
      .unexpectedCharacter
    case .unfinishedString: .unexpectedEnd
    case .unknownWord, .infinityOrNaN: .invalidLiteral
    case .plusSign, .leadingPoint, .leadingZero, .missingDigit, .missingFractionDigit, .missingExponentDigit:
      .invalidNumber
    case .controlCharacter: .controlCharacter
    case .unknownEscape, .missingHexadecimalDigit: .invalidEscape
    case .loneHighSurrogate, .loneLowSurrogate: .loneSurrogate
    case .invalidUTF8: .invalidUTF8
    case .trailingContent: .trailingContent
    case .tooDeep: .depthExceeded
    case .integerOutOfRange, .doubleTooLarge, .doubleTooSmall: .numberOutOfRange
    }
  }
}
