/// Lines of code, indented by two spaces for each level.
struct CodeText {
  private(set) var text = ""
  private var level = 0

  mutating func line(_ line: String = "") {
    if !line.isEmpty { text += String(repeating: "  ", count: level) + line }
    text += "\n"
  }

  mutating func comment(_ text: String?) {
    if let text { line("/// \(text)") }
  }

  /// Several lines as they are.
  mutating func lines(_ lines: [UInt8]) { text += String(decoding: lines, as: UTF8.self) }

  /// A block in braces, with `head` before the brace.
  mutating func block(_ head: String, _ body: (inout CodeText) -> Void) {
    line("\(head) {")
    indented(body)
    line("}")
  }

  mutating func indented(_ body: (inout CodeText) -> Void) {
    level += 1
    body(&self)
    level -= 1
  }

  /// A text of the catalogue for a comment: one line, without characters that end a comment or that an
  /// editor acts on.
  static func comment(_ text: String) -> String {
    let words = Terminal.harmless(String(text.prefix(300))).split(separator: " ").joined(separator: " ")
    return words.replacing("*/", with: "* /").replacing("/*", with: "/ *")
  }

  /// The comment of a member, in one line; nil if there is nothing to say.
  static func comment(of member: SchemaTypeMember) -> String? {
    var sentences: [String] = []
    if let description = member.description { sentences.append(comment(description)) }
    if let format = member.format { sentences.append("Format: \(comment(format)).") }
    if member.isReadOnly { sentences.append("Only the server sets this.") }
    sentences += member.type.notes.map { "JSON, because \($0)." }
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  /// The text as a string literal. Swift and TypeScript have the same escapes.
  static func literal(_ text: String, quote: Unicode.Scalar = "\"") -> String {
    var literal = String.UnicodeScalarView()
    literal.append(quote)
    for scalar in text.unicodeScalars {
      if scalar == "\\" || scalar == quote { literal.append("\\") }
      if Terminal.isControl(scalar) {
        literal.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      } else {
        literal.append(scalar)
      }
    }
    literal.append(quote)
    return String(literal)
  }
}
