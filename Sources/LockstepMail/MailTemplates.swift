import Glibc

/// The templates of all mails in all languages: those of the server, and the operator's, which
/// replace them.
///
/// A file's name is that of the mail and a language: `password-reset.de.txt`. An operator's
/// `password-reset.de.html` replaces the HTML that the server makes from the text. The operator may
/// add languages.
public struct MailTemplates: Sendable {
  /// The operator's folder; nil if there is none.
  package private(set) var folder: String?
  /// For each mail, the texts by language.
  private var texts: [MailKind: [String: MailTexts]] = [:]

  /// The server's own templates.
  package init() throws(MailTemplateError) {
    try self.init(replacing: [])
  }

  /// The server's own templates, and the files of a folder. Files with other endings than `.txt`
  /// and `.html` are ignored.
  package init(folder: String) throws(MailTemplateError) {
    try self.init(replacing: try Self.files(in: folder))
    self.folder = folder
  }

  /// `files` are those of the operator: names and contents.
  init(replacing files: [(name: String, bytes: [UInt8])]) throws(MailTemplateError) {
    for (name, bytes) in Self.defaults { try add(name, bytes, operatorHTML: nil) }
    let html = Dictionary(files.filter { $0.name.hasSuffix(".html") }) { first, _ in first }
    for (name, bytes) in files where name.hasSuffix(".txt") {
      let page = name.dropLast(3) + "html"
      try add(name, bytes, operatorHTML: html[String(page)])
    }
    // An HTML file belongs to a text, because clients show the text if they show no HTML.
    let names = Set(files.map(\.name))
    for (name, _) in files where name.hasSuffix(".html") {
      _ = try Self.parts(of: name)
      let text = name.dropLast(4) + "txt"
      guard names.contains(String(text)) else {
        throw MailTemplateError(file: name, line: nil, reason: "\(text) is missing: each mail also needs its text.")
      }
    }
  }

  /// The texts in the first of these languages that has some; in English if none has. Languages are
  /// tags such as `de` and `de-at`, in lower case.
  func texts(of kind: MailKind, in languages: [String]) -> (language: String, texts: MailTexts) {
    let all = texts[kind] ?? [:]
    for language in languages + ["en"] {
      let tag = String(language.prefix { $0 != "-" })
      if let texts = all[tag] { return (tag, texts) }
    }
    preconditionFailure("the server has a text of each mail in English")
  }

  private mutating func add(_ name: String, _ bytes: [UInt8], operatorHTML: [UInt8]?) throws(MailTemplateError) {
    let (kind, language) = try Self.parts(of: name)
    var read = try MailTexts(bytes, of: kind, file: name)
    if let operatorHTML {
      read.html = try MailTexts.html(operatorHTML, of: kind, file: String(name.dropLast(3) + "html"))
    }
    texts[kind, default: [:]][language] = read
  }

  /// The mail and the language in a file's name.
  private static func parts(of name: String) throws(MailTemplateError) -> (MailKind, language: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let kind = MailKind(rawValue: String(parts[0])), (2...3).contains(parts[1].utf8.count),
      parts[1].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
    else {
      let kinds = MailKind.allCases.map { "\($0.rawValue).<language>" }.joined(separator: ", ")
      throw MailTemplateError(file: name, line: nil, reason: "Templates are named \(kinds) with .txt or .html.")
    }
    return (kind, String(parts[1]))
  }
}

extension MailTemplates {
  private static func files(in folder: String) throws(MailTemplateError) -> [(name: String, bytes: [UInt8])] {
    guard let directory = opendir(folder) else { throw unreadable(folder) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name.hasSuffix(".txt") || name.hasSuffix(".html") { names.append(name) }
      guard names.count <= 1000 else {
        throw MailTemplateError(file: folder, line: nil, reason: "The folder has more than 1000 templates.")
      }
    }
    var files: [(name: String, bytes: [UInt8])] = []
    for name in names.sorted() { files.append((name, try contents(of: name, in: folder))) }
    return files
  }

  /// Reads a little more than a template may have.
  private static func contents(of name: String, in folder: String) throws(MailTemplateError) -> [UInt8] {
    // Opening a named pipe would wait for a writer without `O_NONBLOCK`.
    let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(name) }
    defer { close(descriptor) }
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    while bytes.count <= buffer.count {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(name) }
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    return bytes
  }

  private static func unreadable(_ file: String) -> MailTemplateError {
    MailTemplateError(file: file, line: nil, reason: "It cannot be read: \(String(cString: strerror(errno))).")
  }

  static let defaults: [(name: String, bytes: [UInt8])] = [
    ("password-reset.en.txt", PackageResources.password_reset_en_txt),
    ("password-reset.ja.txt", PackageResources.password_reset_ja_txt),
    ("password-reset.de.txt", PackageResources.password_reset_de_txt),
    ("password-reset.fr.txt", PackageResources.password_reset_fr_txt),
    ("password-reset.es.txt", PackageResources.password_reset_es_txt),
    ("email-proof.en.txt", PackageResources.email_proof_en_txt),
    ("email-proof.ja.txt", PackageResources.email_proof_ja_txt),
    ("email-proof.de.txt", PackageResources.email_proof_de_txt),
    ("email-proof.fr.txt", PackageResources.email_proof_fr_txt),
    ("email-proof.es.txt", PackageResources.email_proof_es_txt),
    ("email-changed.en.txt", PackageResources.email_changed_en_txt),
    ("email-changed.ja.txt", PackageResources.email_changed_ja_txt),
    ("email-changed.de.txt", PackageResources.email_changed_de_txt),
    ("email-changed.fr.txt", PackageResources.email_changed_fr_txt),
    ("email-changed.es.txt", PackageResources.email_changed_es_txt),
  ]
}
