import Foundation
import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepMail

@Suite("Templates of mails", .timeLimit(.minutes(10)))
struct MailTemplateTests {
  private func error(_ files: [(String, String)]) -> String {
    do throws(MailTemplateError) {
      _ = try MailTemplates(replacing: files.map { ($0.0, Array($0.1.utf8)) })
      return "none"
    } catch {
      return error.description
    }
  }

  @Test("Every file in the folder of texts is a template of the server")
  func allListed() throws {
    let folder = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/LockstepMail/Texts")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(files.sorted() == MailTemplates.defaults.map(\.name).sorted())
    for (name, bytes) in MailTemplates.defaults {
      #expect(try Data(contentsOf: folder.appendingPathComponent(name)) == Data(bytes), "\(name)")
    }
  }

  @Test(
    "A fault of a template names the file and the line",
    arguments: [
      (
        "password-reset.de.txt", "Hello\n\n{link}",
        "password-reset.de.txt:1: The first line must begin with “Subject: ”."
      ),
      ("password-reset.de.txt", "", "password-reset.de.txt:1: The first line must begin with “Subject: ”."),
      (
        "password-reset.de.txt", "Subject: \n\n{link}", "password-reset.de.txt:1: The subject must have 1 to 200 bytes."
      ),
      (
        "password-reset.de.txt", "Subject: x\n{link}",
        "password-reset.de.txt:2: An empty line and the text must follow the subject."
      ),
      (
        "password-reset.de.txt", "Subject: x",
        "password-reset.de.txt:2: An empty line and the text must follow the subject."
      ),
      (
        "password-reset.de.txt", "Subject: {link}\n\n{link}",
        "password-reset.de.txt:1: The subject must not contain {link}: it is a secret."
      ),
      (
        "password-reset.de.txt", "Subject: x\n\nHello",
        "password-reset.de.txt: {link} is missing. Without it, the mail is of no use."
      ),
      (
        "password-reset.de.txt", "Subject: x\r\n\r\nHello\r\n{link}\r\n\r\n{Link}",
        "password-reset.de.txt:6: {Link} is not a placeholder of this mail. Use {link}, {email}, {minutes}, {server}."
      ),
      (
        "email-changed.de.txt", "Subject: {minutes}\n\nx",
        "email-changed.de.txt:1: {minutes} is not a placeholder of this mail. Use {email}, {server}."
      ),
      ("email-proof.fr.txt", "Subject: x\n\n{link}\u{0}", "email-proof.fr.txt:3: The line has a control character."),
      ("email-proof.fr.txt", "Subject: x\ry\n\n{link}", "email-proof.fr.txt:1: The line has a control character."),
      (
        "email-proof.fr.txt", String(repeating: "x", count: 70_000),
        "email-proof.fr.txt: The file is larger than 64 KiB."
      ),
      (
        "email-proof.fr.html", "{link}",
        "email-proof.fr.html: email-proof.fr.txt is missing: each mail also needs its text."
      ),
      (
        "pasword-reset.fr.txt", "Subject: x\n\n{link}",
        "pasword-reset.fr.txt: Templates are named password-reset.<language>, email-proof.<language>, email-changed.<language> with .txt or .html."
      ),
    ]
  )
  func faults(name: String, text: String, expected: String) {
    #expect(error([(name, text)]) == expected)
  }

  @Test(
    "Other names are refused",
    arguments: [
      "password-reset.txt", "password-reset.DE.txt", "password-reset.de.at.txt", ".txt", "password-reset..txt",
    ]
  )
  func names(name: String) {
    #expect(error([(name, "Subject: x\n\n{link}")]).hasPrefix("\(name): Templates are named"))
  }

  @Test("A fault of the operator's HTML names its file and line")
  func html() {
    let text = ("password-reset.de.txt", "Subject: x\n\n{link}")
    #expect(
      error([text, ("password-reset.de.html", "<p>\n{link}{sever}")]).hasPrefix("password-reset.de.html:2: {sever}")
    )
    #expect(error([text, ("password-reset.de.html", "<p>")]).hasPrefix("password-reset.de.html: {link} is missing."))
    #expect(error([text, ("password-reset.de.html", "<a href={link}>{a b}{1}{{{server}}}")]) == "none")
  }

  @Test("A byte order mark at the beginning of a file is not a part of the text")
  func byteOrderMark() {
    #expect(error([("password-reset.de.txt", "\u{FEFF}Subject: x\r\n\r\n{link}")]) == "none")
  }

  @Test("A file that is not UTF-8 is an error")
  func encoding() {
    #expect(throws: MailTemplateError(file: "email-proof.fr.txt", line: nil, reason: "The file is not UTF-8.")) {
      try MailTemplates(replacing: [("email-proof.fr.txt", [0x53, 0xFF])])
    }
  }

  @Test("A folder is read; other files in it are ignored; what cannot be read is an error")
  func folder() throws {
    let folder = try TemporaryDirectory()
    try folder.write(Array("Subject: Hallo\n\n{link}".utf8), to: "password-reset.de.txt")
    try folder.write([0xFF], to: "README.md")
    let templates = try MailTemplates(folder: folder.path)
    #expect(templates.texts(of: .passwordReset, in: ["de"]).texts.subject.filled { _ in "" } == "Hallo")
    #expect(templates.texts(of: .emailProof, in: ["de"]).language == "de")
    #expect { try MailTemplates(folder: folder.file("nothing")) } throws: {
      "\($0)".hasSuffix("nothing: It cannot be read: No such file or directory.")
    }
    mkdir(folder.file("email-proof.de.txt"), 0o700)
    #expect { try MailTemplates(folder: folder.path) } throws: {
      "\($0)" == "email-proof.de.txt: It cannot be read: Is a directory."
    }
  }

  @Test("A named pipe in the folder does not block")
  func pipe() throws {
    let folder = try TemporaryDirectory()
    mkfifo(folder.file("email-proof.de.txt"), 0o600)
    #expect(throws: MailTemplateError.self) { try MailTemplates(folder: folder.path) }
  }
}
