/// Why a text is not the JSON that was asked for, and where.
public struct JSONParseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong with the text.
  public enum Kind: Sendable, Hashable {
    /// There is nothing but white space.
    case emptyText
    /// The text begins with a byte order mark.
    case byteOrderMark
    /// The text ends before the value does.
    case unexpectedEnd
    /// Something else should stand there.
    case unexpectedCharacter
    /// There is more after the value.
    case trailingContent
    /// A word that is none of `true`, `false` and `null`.
    case invalidLiteral
    /// A number that is not spelled as JSON wants it.
    case invalidNumber
    /// A control character inside a string that is not escaped.
    case controlCharacter
    /// An escape that JSON does not have.
    case invalidEscape
    /// Half of a surrogate pair without the other half.
    case loneSurrogate
    /// Bytes that are not UTF-8.
    case invalidUTF8
    /// More arrays and objects inside each other than the limits allow.
    case depthExceeded
    /// A well-formed number that neither 64 bits nor a finite double can hold.
    case numberOutOfRange
  }

  /// What is wrong.
  public let kind: Kind
  /// The line, from 1. Lines end with a line feed.
  public let line: Int
  /// The character in its line, from 1. Characters are Unicode scalars, whatever they take in bytes.
  public let column: Int
  /// The byte in the text, from 0.
  public let byteOffset: Int
  /// What is wrong as a sentence without its place, e.g. `A value must follow the comma, but here is "]".`
  public let reason: String

  /// Whether the text is not JSON at all. False only for `numberOutOfRange`, which is JSON.
  public var isMalformed: Bool {
    kind != .numberOutOfRange
  }

  /// The place and the reason, e.g. `Line 1, column 4: A value must follow the comma, but here is "]".`
  public var description: String {
    "Line \(line), column \(column): \(reason)"
  }

  init(_ fault: ParseFault, in text: UnsafeBufferPointer<UInt8>) {
    // Whatever is missing at the very end may just not have come yet.
    let isAtEnd = fault.offset == text.count && fault.problem.kind != .emptyText
    kind = isAtEnd ? .unexpectedEnd : fault.problem.kind
    byteOffset = fault.offset
    var line = 1
    var column = 1
    for byte in text.prefix(fault.offset) {
      if byte == Ascii.lineFeed {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        // Everything before the fault is valid UTF-8, in which each scalar has one byte of this kind.
        column += 1
      }
    }
    self.line = line
    self.column = column
    reason = fault.problem.sentence(found: Self.nameOfCharacter(at: fault.offset, in: text))
  }

  /// The character at a place in words: itself in quotation marks when it can be seen.
  private static func nameOfCharacter(at offset: Int, in text: UnsafeBufferPointer<UInt8>) -> String {
    guard offset < text.count else { return "the end of the text" }
    let byte = text[offset]
    if byte == Ascii.quote { return "a quotation mark" }
    if (0x20..<0x7F).contains(byte) { return "\"\(Unicode.Scalar(byte))\"" }
    if byte < 0x80 { return "U+\(hexadecimal(UInt32(byte), digits: 4))" }
    // At most four bytes decide; a cut in what follows them cannot change the first.
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
