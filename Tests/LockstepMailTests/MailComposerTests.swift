import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepMail

@Suite("Mails", .timeLimit(.minutes(10)))
struct MailComposerTests {
  private func mail(
    _ kind: MailKind = .passwordReset,
    to recipient: String = "ada@example.org",
    in languages: [String] = ["en"],
    from sender: String = "Notes <notes@example.com>",
    templates: [(name: String, bytes: [UInt8])] = []
  ) throws -> [UInt8] {
    let composer = MailComposer(
      templates: try MailTemplates(replacing: templates),
      sender: try MailSender(sender),
      publicURL: try PublicURL("https://notes.example.com/")
    )
    return composer.mail(
      kind,
      to: recipient,
      in: languages,
      token: "t0k-En_",
      validFor: .seconds(1800),
      at: Timestamp(millisecondsSince1970: 1_795_744_799_500),
      id: "abc123"
    )
  }

  @Test("A mail has the fields of RFC 5322, a text and HTML")
  func whole() throws {
    let read = try MailReader(try mail())
    #expect(
      read.fields.map { "\($0.name): \($0.value)" } == [
        "date: Fri, 27 Nov 2026 01:59:59 +0000", "from: \"Notes\" <notes@example.com>", "to: ada@example.org",
        "subject: Reset your password for notes.example.com", "message-id: <abc123@example.com>",
        "auto-submitted: auto-generated", "content-language: en", "mime-version: 1.0",
        "content-type: multipart/alternative; boundary=\"=_part\"",
      ]
    )
    let link = "https://notes.example.com/account/reset#token=t0k-En_"
    #expect(
      read.parts["text/plain"]
        == """
        Hello,\r
        \r
        Someone asked for a new password for the account ada@example.org on notes.example.com. To choose a new password, \
        open this link within 30 minutes:\r
        \r
        \(link)\r
        \r
        The link works once. When you set the new password, all your devices are logged out.\r
        \r
        If you did not ask for this, ignore this mail. Your password stays as it is.\r

        """
    )
    let html = try #require(read.parts["text/html"])
    #expect(html.contains("<p><a href=\"\(link)\">\(link)</a></p>") && html.contains("<html lang=\"en\">"))
  }

  @Test("Every mail in every language is complete", arguments: MailKind.allCases, ["en", "ja", "de", "fr", "es"])
  func all(kind: MailKind, language: String) throws {
    let read = try MailReader(try mail(kind, in: [language]))
    #expect(read["content-language"] == language)
    let subject = try MailReader.decoded(try #require(read["subject"]))
    #expect(subject.contains("notes.example.com"))
    let path = kind == .passwordReset ? "reset" : "confirm"
    for (type, body) in read.parts {
      let hasLink = body.contains("https://notes.example.com/account/\(path)#token=t0k-En_")
      #expect(hasLink == (kind != .emailChanged), "\(type)")
      #expect(body.contains("ada@example.org") && !body.contains("{") && body.contains("30") == hasLink, "\(type)")
    }
    #expect(read.lines.allSatisfy { $0.utf8.count <= 900 }, "\(read.lines)")
  }

  @Test(
    "The first language with a text is used",
    arguments: [
      (["de-at", "en"], "de"), (["it", "fr-ca"], "fr"), (["it"], "en"), ([], "en"), (["", "-", "de"], "de"),
      (["zh"], "zh"),
    ]
  )
  func languages(languages: [String], expected: String) throws {
    let chinese = ("password-reset.zh.txt", Array("Subject: 重置密码\n\n{link}\n".utf8))
    #expect(try MailReader(try mail(in: languages, templates: [chinese]))["content-language"] == expected)
  }

  @Test("Names and subjects beyond ASCII are encoded, and short ones stay readable")
  func encodedFields() throws {
    #expect(try MailReader(try mail(from: "notes@example.com"))["from"] == "notes@example.com")
    #expect(try MailReader(try mail(from: #""A \"b\", c" <a@b.c>"#))["from"] == #""A \"b\", c" <a@b.c>"#)
    let names = [
      "メモ帳", "Équipe de Notes", String(repeating: "ä", count: 200), String(repeating: "long ", count: 40) + "x",
      "=?x?=",
    ]
    for name in names {
      let read = try MailReader(try mail(from: "\(name) <a@b.c>"))
      let from = try #require(read["from"])
      #expect(from.hasSuffix(" <a@b.c>"))
      #expect(try MailReader.decoded(String(from.dropLast(8))) == name)
      #expect(read.lines.allSatisfy { $0.utf8.count <= 900 })
    }
  }

  @Test("An address beyond ASCII is in UTF-8")
  func international() throws {
    #expect(try MailReader(try mail(to: "jürgen@例え.jp"))["to"] == "jürgen@例え.jp")
  }

  @Test("Values are escaped in HTML, and only there")
  func escaping() throws {
    let template = ("email-changed.en.txt", Array("Subject: <x> {email}\n\n<b> & {email} {color: red} {}\n".utf8))
    let read = try MailReader(try mail(.emailChanged, to: "a&'b=<x>\"@example.org", templates: [template]))
    #expect(read.parts["text/plain"] == "<b> & a&'b=<x>\"@example.org {color: red} {}\r\n")
    let html = try #require(read.parts["text/html"])
    #expect(html.contains("<p>&lt;b&gt; &amp; a&amp;&#39;b=&lt;x&gt;&quot;@example.org {color: red} {}</p>"))
    #expect(html.contains("<title>&lt;x&gt; a&amp;&#39;b"))
  }

  @Test("The operator's own HTML gets escaped values")
  func ownHTML() throws {
    let files = [
      ("password-reset.en.txt", Array("Subject: x\n\n{link}".utf8)),
      ("password-reset.en.html", Array("<style>a{color:red}</style><a href=\"{link}\">{email}</a>\r\n{server}".utf8)),
    ]
    let read = try MailReader(try mail(to: "a&b@example.org", templates: files))
    #expect(
      read.parts["text/html"] == """
        <style>a{color:red}</style><a href="https://notes.example.com/account/reset#token=t0k-En_">a&amp;b@example.org</a>\r
        notes.example.com
        """
    )
    #expect(read.parts["text/plain"] == "https://notes.example.com/account/reset#token=t0k-En_")
  }

  @Test("No text can add a field, a part or a line")
  func injection() throws {
    let seed = TestSeed.make(for: "MailComposerTests.injection")
    var numbers = SeededNumbers(seed: seed)
    let pieces = [
      "\r\nBcc: x@y.z", "\n\n", "\r", "--=_part", "--=_part--", "\u{2028}", ".", "\r\n.\r\n", "ü", "漢", "👩‍👩‍👧‍👦",
      "=?UTF-8?B?", "a", " ", "\t",
    ]
    for _ in 0..<300 {
      let text = (0..<numbers.below(60)).map { _ in numbers.one(of: pieces) }.joined()
      let message = MailMessage(
        sender: try MailSender("a@b.c"),
        recipient: "d@e.f",
        subject: text,
        text: text,
        html: text,
        language: "en",
        time: Timestamp(millisecondsSince1970: 0),
        id: "1"
      )
      let read = try MailReader(message.encoded())
      #expect(read.fields.count == 9 && read["bcc"] == nil, "seed \(seed)")
      #expect(read.lines.allSatisfy { $0.utf8.count <= 900 && !$0.hasPrefix(".") }, "seed \(seed)")
      let visible = String(
        String.UnicodeScalarView(text.unicodeScalars.map { "\r\n\t\u{2028}".unicodeScalars.contains($0) ? " " : $0 })
      )
      #expect(try MailReader.decoded(read["subject"] ?? "") == visible, "seed \(seed)")
      #expect(read.parts["text/plain"] == read.parts["text/html"], "seed \(seed)")
      let ends = read.parts["text/plain"]?.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) ?? []
      #expect(ends.dropLast().allSatisfy { $0.last == "\r" }, "seed \(seed)")
    }
  }

  @Test("base64 of random bytes is read back")
  func base64() throws {
    let seed = TestSeed.make(for: "MailComposerTests.base64")
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<2000 {
      let bytes = (0..<numbers.below(300)).map { _ in UInt8(numbers.below(256)) }
      #expect(try MailReader.base64(MailEncoding.base64(bytes)) == bytes, "seed \(seed)")
    }
    #expect(MailEncoding.base64(Array("light work".utf8)) == "bGlnaHQgd29yaw==")
  }
}
