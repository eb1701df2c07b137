/// The texts of a mail in one language.
struct MailTexts: Sendable, Equatable {
  private static let largest = 65_536
  private static let subjectStart = "Subject: "

  let subject: MailTemplate
  let text: MailTemplate
  /// The operator's own HTML. Without it, the HTML is made from the text.
  var html: MailTemplate?

  /// Reads a file: `Subject: …`, an empty line, and the text.
  init(_ bytes: [UInt8], of kind: MailKind, file: String) throws(MailTemplateError) {
    let lines = try Self.lines(bytes, file)
    guard let first = lines.first, first.hasPrefix(Self.subjectStart) else {
      throw MailTemplateError(file: file, line: 1, reason: "The first line must begin with “Subject: ”.")
    }
    let subject = first.dropFirst(Self.subjectStart.count)
    guard subject.contains(where: { $0 != " " }), subject.utf8.count <= 200 else {
      throw MailTemplateError(file: file, line: 1, reason: "The subject must have 1 to 200 bytes.")
    }
    guard lines.count > 2, lines[1].isEmpty else {
      throw MailTemplateError(file: file, line: 2, reason: "An empty line and the text must follow the subject.")
    }
    self.subject = try MailTemplate(subject, of: kind, file: file, line: 1)
    guard !self.subject.contains(.link) else {
      throw MailTemplateError(file: file, line: 1, reason: "The subject must not contain {link}: it is a secret.")
    }
    text = try Self.template(lines.dropFirst(2), of: kind, file: file, line: 3)
  }

  /// Reads the operator's HTML.
  static func html(_ bytes: [UInt8], of kind: MailKind, file: String) throws(MailTemplateError) -> MailTemplate {
    try template(try lines(bytes, file)[...], of: kind, file: file, line: 1)
  }

  private static func template(
    _ lines: ArraySlice<Substring>,
    of kind: MailKind,
    file: String,
    line: Int
  ) throws(MailTemplateError) -> MailTemplate {
    let text = lines.joined(separator: "\n")
    let template = try MailTemplate(text[...], of: kind, file: file, line: line)
    guard !kind.placeholders.contains(.link) || template.contains(.link) else {
      throw MailTemplateError(file: file, line: nil, reason: "{link} is missing. Without it, the mail is of no use.")
    }
    return template
  }

  /// The lines of a file, which may begin with a byte order mark, and may end in LF or CRLF.
  private static func lines(_ bytes: [UInt8], _ file: String) throws(MailTemplateError) -> [Substring] {
    guard bytes.count <= largest else {
      throw MailTemplateError(file: file, line: nil, reason: "The file is larger than 64 KiB.")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw MailTemplateError(file: file, line: nil, reason: "The file is not UTF-8.")
    }
    let scalars = text.unicodeScalars.drop { $0 == "\u{FEFF}" }
    let lines = scalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      Substring(line.last == "\r" ? line.dropLast() : line)
    }
    for (index, line) in lines.enumerated() {
      guard line.unicodeScalars.allSatisfy({ $0 == "\t" || $0.properties.generalCategory != .control }) else {
        throw MailTemplateError(file: file, line: index + 1, reason: "The line has a control character.")
      }
    }
    return lines
  }
}
