/// A fault of a template.
package struct MailTemplateError: Error, Equatable, CustomStringConvertible {
  package let file: String
  /// From 1; nil if the fault is not on a line.
  package let line: Int?
  package let reason: String

  package var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(reason)" }
}

/// Text with placeholders. Braces around anything but letters, such as those of CSS, are text.
struct MailTemplate: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case text(String)
    case value(MailPlaceholder)
  }

  private var parts: [Part] = []

  /// `line` is the number of the text's first line in the file.
  init(_ text: Substring, of kind: MailKind, file: String, line first: Int) throws(MailTemplateError) {
    var (rest, line, plain) = (text.utf8[...], first, [UInt8]())
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\n") { line += 1 }
      guard byte == UInt8(ascii: "{"), let name = Self.name(at: rest) else {
        plain.append(byte)
        continue
      }
      guard let placeholder = MailPlaceholder(rawValue: name), kind.placeholders.contains(placeholder) else {
        let known = kind.placeholders.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw MailTemplateError(
          file: file,
          line: line,
          reason: "{\(name)} is not a placeholder of this mail. Use \(known)."
        )
      }
      parts += [.text(String(decoding: plain, as: UTF8.self)), .value(placeholder)]
      plain = []
      rest = rest.dropFirst(name.utf8.count + 1)
    }
    parts.append(.text(String(decoding: plain, as: UTF8.self)))
  }

  func contains(_ placeholder: MailPlaceholder) -> Bool { parts.contains(.value(placeholder)) }

  /// The text with these values.
  func filled(_ value: (MailPlaceholder) -> String) -> String { filled({ $0 }, value) }

  /// Like `filled`, with each text between the values changed.
  func filled(_ change: (String) -> String, _ value: (MailPlaceholder) -> String) -> String {
    parts.map { part in
      switch part {
      case .text(let text): change(text)
      case .value(let placeholder): value(placeholder)
      }
    }
    .joined()
  }

  /// The letters before the next `}`; nil if there is anything else.
  private static func name(at text: Substring.UTF8View) -> String? {
    let name = text.prefix { ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z") }
    guard !name.isEmpty, text.dropFirst(name.count).first == UInt8(ascii: "}") else { return nil }
    return String(Substring(name))
  }
}
