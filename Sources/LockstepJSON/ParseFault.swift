/// The parser's error. It is cheap to make, because only `JSONParseError` computes the line, the
/// column and the message.
struct ParseFault: Error {
  var problem: ParseProblem
  var offset: Int
}

enum ParseProblem {
  case emptyText, byteOrderMark, trailingContent, invalidUTF8, tooDeep(limit: Int)
  case missingValue, missingValueAfterComma, missingNameAfterComma, missingNameOrBrace, missingColon
  case missingCommaOrBracket, missingCommaOrBrace
  case unknownWord, infinityOrNaN, apostrophe, comment
  case plusSign, leadingPoint, leadingZero, missingDigit, missingFractionDigit, missingExponentDigit
  case integerOutOfRange, doubleTooLarge, doubleTooSmall
  case unfinishedString, controlCharacter, unknownEscape, missingHexadecimalDigit
  case loneHighSurrogate, loneLowSurrogate

  /// The kind and the message. `found` describes the character at the offset.
  func explanation(found: String) -> (kind: JSONParseError.Kind, sentence: String) {
    switch self {
    case .emptyText: (.emptyText, "The text is empty; it must hold one JSON value.")
    case .byteOrderMark: (.byteOrderMark, "The text begins with a byte order mark; send UTF-8 without one.")
    case .trailingContent: (.trailingContent, "The text must end after the value, but here is \(found).")
    case .invalidUTF8: (.invalidUTF8, "The text must be UTF-8, but here is \(found).")
    case .tooDeep(let limit): (.depthExceeded, "Arrays and objects must not be nested deeper than \(limit).")
    case .missingValue: (.unexpectedCharacter, "A value must stand here, but here is \(found).")
    case .missingValueAfterComma: (.unexpectedCharacter, "A value must follow the comma, but here is \(found).")
    case .missingNameAfterComma:
      (.unexpectedCharacter, "A name in quotation marks must follow the comma, but here is \(found).")
    case .missingNameOrBrace:
      (.unexpectedCharacter, "A name in quotation marks or \"}\" must follow \"{\", but here is \(found).")
    case .missingColon: (.unexpectedCharacter, "A colon must follow the name, but here is \(found).")
    case .missingCommaOrBracket:
      (.unexpectedCharacter, "A comma or \"]\" must follow the element, but here is \(found).")
    case .missingCommaOrBrace: (.unexpectedCharacter, "A comma or \"}\" must follow the member, but here is \(found).")
    case .unknownWord: (.invalidLiteral, "The only words in JSON are true, false and null.")
    case .infinityOrNaN: (.invalidLiteral, "JSON has no infinity and no NaN; send null or leave the member out.")
    case .apostrophe: (.unexpectedCharacter, "Strings need quotation marks, not apostrophes.")
    case .comment: (.unexpectedCharacter, "JSON has no comments.")
    case .plusSign: (.invalidNumber, "A number must not begin with a plus sign.")
    case .leadingPoint: (.invalidNumber, "A number must not begin with a point; write a zero before it.")
    case .leadingZero: (.invalidNumber, "A number must not begin with an unnecessary zero.")
    case .missingDigit: (.invalidNumber, "A digit must follow the minus sign, but here is \(found).")
    case .missingFractionDigit: (.invalidNumber, "A digit must follow the decimal point, but here is \(found).")
    case .missingExponentDigit: (.invalidNumber, "The exponent needs a digit, but here is \(found).")
    case .integerOutOfRange:
      (.numberOutOfRange, "The integer does not fit into 64 bits (\(Int64.min) to \(UInt64.max)).")
    case .doubleTooLarge: (.numberOutOfRange, "The number is too large for a double.")
    case .doubleTooSmall: (.numberOutOfRange, "The number is not zero, but too close to zero for a double.")
    case .unfinishedString: (.unexpectedEnd, "The string has no closing quotation mark.")
    case .controlCharacter:
      (.controlCharacter, "A string must not hold the control character \(found) unless it is escaped.")
    case .unknownEscape: (.invalidEscape, "A backslash must not be followed by \(found) in a string.")
    case .missingHexadecimalDigit:
      (.invalidEscape, "Four hexadecimal digits must follow \"\\u\", but here is \(found).")
    case .loneHighSurrogate:
      (.loneSurrogate, "The first half of a surrogate pair must be followed by the second.")
    case .loneLowSurrogate: (.loneSurrogate, "The second half of a surrogate pair must follow the first.")
    }
  }
}
