/// An error in JSON text, with its position.
public struct JSONParseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Sendable, Hashable {
    case emptyText
    case byteOrderMark
    case unexpectedEnd
    /// A character that the grammar does not allow here.
    case unexpectedCharacter
    case trailingContent
    /// A word other than `true`, `false` and `null`.
    case invalidLiteral
    case invalidNumber
    /// An unescaped control character in a string.
    case controlCharacter
    case invalidEscape
    case loneSurrogate
    case invalidUTF8
    case depthExceeded
    /// An integer that does not fit into 64 bits, or a number that does not fit into a double.
    case numberOutOfRange
  }

  /// The kind of error.
  public let kind: Kind
  /// The line, counted from 1. Lines end with a line feed.
  public let line: Int
  /// The position in the line, in Unicode scalars from 1.
  public let column: Int
  /// The position in the text, in bytes from 0.
  public let byteOffset: Int
  /// The message without the position, such as `A value must follow the comma, but here is "]".`
  public let reason: String

  /// Whether the text is not JSON or is nested too deep. False only for `numberOutOfRange`.
  public var isMalformed: Bool { kind != .numberOutOfRange }

  /// The position and the reason.
  public var description: String { "Line \(line), column \(column): \(reason)" }

  init(_ fault: ParseFault, in text: UnsafeBufferPointer<UInt8>) {
    let (kind, sentence) = fault.problem.explanation(found: Self.nameOfCharacter(at: fault.offset, in: text))
    self.kind = fault.offset == text.count && kind != .emptyText ? .unexpectedEnd : kind
    reason = sentence
    byteOffset = fault.offset
    var line = 1
    var column = 1
    for byte in text.prefix(fault.offset) {
      if byte == Ascii.lineFeed {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        // The text before the fault is valid UTF-8, so this counts scalars.
        column += 1
      }
    }
    self.line = line
    self.column = column
  }

  /// The character for a message: in quotation marks if it is visible ASCII, otherwise its name.
  private static func nameOfCharacter(at offset: Int, in text: UnsafeBufferPointer<UInt8>) -> String {
    guard offset < text.count else { return "the end of the text" }
    let byte = text[offset]
    if byte == Ascii.quote { return "a quotation mark" }
    if (0x20..<0x7F).contains(byte) { return "\"\(Unicode.Scalar(byte))\"" }
    if byte < 0x80 { return "U+\(hexadecimal(UInt32(byte), digits: 4))" }
    // Four bytes are enough for the first scalar.
    let scalars = String(decoding: text[offset..<min(offset + 4, text.count)], as: UTF8.self).unicodeScalars
    guard let scalar = scalars.first, scalar != "\u{FFFD}" else {
      return "the byte 0x\(hexadecimal(UInt32(byte), digits: 2))"
    }
    return "U+\(hexadecimal(scalar.value, digits: 4))"
  }

  private static func hexadecimal(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
