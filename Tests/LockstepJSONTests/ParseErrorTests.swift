import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct ParseErrorTests {
  struct Case: CustomTestStringConvertible {
    var text: [UInt8]
    var kind: JSONParseError.Kind
    var description: String
    var testDescription: String { description }

    init(_ text: String, _ kind: JSONParseError.Kind, _ description: String) {
      self.init(Array(text.utf8), kind, description)
    }

    init(_ text: [UInt8], _ kind: JSONParseError.Kind, _ description: String) {
      self.text = text
      self.kind = kind
      self.description = description
    }
  }

  @Test("An error has the right kind and message", arguments: cases)
  func messages(_ item: Case) {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: item.text) }
    #expect(error?.kind == item.kind)
    #expect(error?.description == item.description)
  }

  @Test("Columns count characters, offsets count bytes, lines end with a line feed")
  func places() {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: "{\r\n  \"grüße\": 1,\n  \"🌌\": x\n}") }
    #expect(error?.line == 3)
    #expect(error?.column == 8)
    #expect(error?.byteOffset == 29)
  }

  @Test("Of all errors, only a number out of range is well-formed")
  func malformedOrNot() {
    #expect(throws: JSONParseError.self) { try JSON(parsing: "1e999") }
    let outOfRange = #expect(throws: JSONParseError.self) { try JSON(parsing: "[18446744073709551616]") }
    #expect(outOfRange?.isMalformed == false)
    let malformed = #expect(throws: JSONParseError.self) { try JSON(parsing: "[01]") }
    #expect(malformed?.isMalformed == true)
  }

  static let cases: [Case] = [
    Case("", .emptyText, "Line 1, column 1: The text is empty; it must hold one JSON value."),
    Case(" \n ", .emptyText, "Line 2, column 2: The text is empty; it must hold one JSON value."),
    Case(
      "\u{FEFF}{}",
      .byteOrderMark,
      "Line 1, column 1: The text begins with a byte order mark; send UTF-8 without one."
    ),
    Case("{\n  \"a\": }", .unexpectedCharacter, #"Line 2, column 8: A value must stand here, but here is "}"."#),
    Case("[1,]", .unexpectedCharacter, #"Line 1, column 4: A value must follow the comma, but here is "]"."#),
    Case(
      #"{"a":1,}"#,
      .unexpectedCharacter,
      #"Line 1, column 8: A name in quotation marks must follow the comma, but here is "}"."#
    ),
    Case(
      "{a:1}",
      .unexpectedCharacter,
      #"Line 1, column 2: A name in quotation marks or "}" must follow "{", but here is "a"."#
    ),
    Case(#"{"a" 1}"#, .unexpectedCharacter, #"Line 1, column 6: A colon must follow the name, but here is "1"."#),
    Case(
      #"["a" "b"]"#,
      .unexpectedCharacter,
      #"Line 1, column 6: A comma or "]" must follow the element, but here is a quotation mark."#
    ),
    Case(
      #"{"a":1 é}"#,
      .unexpectedCharacter,
      #"Line 1, column 8: A comma or "}" must follow the member, but here is U+00E9."#
    ),
    Case(
      "[1",
      .unexpectedEnd,
      #"Line 1, column 3: A comma or "]" must follow the element, but here is the end of the text."#
    ),
    Case(#"{"a":"#, .unexpectedEnd, "Line 1, column 6: A value must stand here, but here is the end of the text."),
    Case(#""abc"#, .unexpectedEnd, "Line 1, column 5: The string has no closing quotation mark."),
    Case("-", .unexpectedEnd, "Line 1, column 2: A digit must follow the minus sign, but here is the end of the text."),
    Case("{} {}", .trailingContent, #"Line 1, column 4: The text must end after the value, but here is "{"."#),
    Case("[nope]", .invalidLiteral, "Line 1, column 2: The only words in JSON are true, false and null."),
    Case(
      "[NaN]",
      .invalidLiteral,
      "Line 1, column 2: JSON has no infinity and no NaN; send null or leave the member out."
    ),
    Case(
      "-Infinity",
      .invalidLiteral,
      "Line 1, column 2: JSON has no infinity and no NaN; send null or leave the member out."
    ),
    Case("['a']", .unexpectedCharacter, "Line 1, column 2: Strings need quotation marks, not apostrophes."),
    Case("[// x\n1]", .unexpectedCharacter, "Line 1, column 2: JSON has no comments."),
    Case("+1", .invalidNumber, "Line 1, column 1: A number must not begin with a plus sign."),
    Case(".5", .invalidNumber, "Line 1, column 1: A number must not begin with a point; write a zero before it."),
    Case("[007]", .invalidNumber, "Line 1, column 2: A number must not begin with an unnecessary zero."),
    Case("-x", .invalidNumber, #"Line 1, column 2: A digit must follow the minus sign, but here is "x"."#),
    Case("[1.]", .invalidNumber, #"Line 1, column 4: A digit must follow the decimal point, but here is "]"."#),
    Case("[1e]", .invalidNumber, #"Line 1, column 4: The exponent needs a digit, but here is "]"."#),
    Case(
      "\"a\tb\"",
      .controlCharacter,
      "Line 1, column 3: A string must not hold the control character U+0009 unless it is escaped."
    ),
    Case(#""\x""#, .invalidEscape, #"Line 1, column 3: A backslash must not be followed by "x" in a string."#),
    Case(
      #""\u12g4""#,
      .invalidEscape,
      #"Line 1, column 6: Four hexadecimal digits must follow "\u", but here is "g"."#
    ),
    Case(
      #""ab\ud800""#,
      .loneSurrogate,
      "Line 1, column 4: The first half of a surrogate pair must be followed by the second."
    ),
    Case(
      #""\udc00""#,
      .loneSurrogate,
      "Line 1, column 2: The second half of a surrogate pair must follow the first."
    ),
    Case(
      [0x22, 0x61, 0xFF, 0x22],
      .invalidUTF8,
      "Line 1, column 3: The text must be UTF-8, but here is the byte 0xFF."
    ),
    Case([0x5B, 0x80, 0x5D], .invalidUTF8, "Line 1, column 2: The text must be UTF-8, but here is the byte 0x80."),
    Case(
      String(repeating: "[", count: 129),
      .depthExceeded,
      "Line 1, column 129: Arrays and objects must not be nested deeper than 128."
    ),
    Case(
      "[-9223372036854775809]",
      .numberOutOfRange,
      "Line 1, column 2: The integer does not fit into 64 bits (-9223372036854775808 to 18446744073709551615)."
    ),
    Case("1e309", .numberOutOfRange, "Line 1, column 1: The number is too large for a double."),
  ]
}
