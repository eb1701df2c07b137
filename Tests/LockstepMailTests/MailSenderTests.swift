import Testing

@testable import LockstepMail

@Suite("The sender of mails and the public URL", .timeLimit(.minutes(10)))
struct MailSenderTests {
  @Test(
    "A sender is an address with or without a name",
    arguments: [
      ("notes@example.com", "", "notes@example.com"), ("Notes <notes@example.com>", "Notes", "notes@example.com"),
      ("  My Notes   <n.o+t@a-b.example>", "My Notes", "n.o+t@a-b.example"), ("<a@localhost>", "", "a@localhost"),
      (#""Notes, Inc." <a@b.c>"#, "Notes, Inc.", "a@b.c"), (#""a \"b\" <c>" <a@b.c>"#, "a \"b\" <c>", "a@b.c"),
      ("メモ <a@b.c>", "メモ", "a@b.c"), ("Notes, Inc. <a@b.c>", "Notes, Inc.", "a@b.c"),
    ]
  )
  func valid(text: String, name: String, address: String) throws {
    let sender = try MailSender(text)
    #expect(sender.name == name && sender.address == address)
  }

  @Test(
    "Any other text is refused",
    arguments: [
      "", "a", "@b.c", "a@", "a@b@c", "a b@c.d", "Notes notes@example.com", "<a@b.c", "a@b.c>", "Notes <a@b.c> x",
      "ü@b.c",
      "a@ü.de", ".a@b.c", "a.@b.c", "a..b@c.d", "a@-b.c", "a@b-.c", "a@b..c", "a@b_c.d", "x\r\nBcc: y <a@b.c>",
      "\"x <a@b.c>", "x\" <a@b.c>", "\"x\" y <a@b.c>", "a <b> <a@b.c>", "<<a@b.c>", "x\u{0} <a@b.c>",
      String(repeating: "x", count: 600) + " <a@b.c>", String(repeating: "x", count: 65) + "@b.c",
    ]
  )
  func invalid(text: String) {
    #expect(throws: MailSenderError.self) { try MailSender(text) }
  }

  @Test(
    "The public URL gives links below itself",
    arguments: [
      ("https://notes.example.com", "https://notes.example.com", "notes.example.com"),
      ("HTTPS://Notes.Example.com:8443//", "https://notes.example.com:8443", "notes.example.com:8443"),
      ("http://127.0.0.1:8080/State/", "http://127.0.0.1:8080/State", "127.0.0.1:8080"),
    ]
  )
  func links(text: String, base: String, server: String) throws {
    let url = try PublicURL(text)
    #expect(url.server == server)
    #expect(url.resetLink("x-_") == "\(base)/account/reset#token=x-_")
    #expect(url.confirmLink("x-_") == "\(base)/account/confirm#token=x-_")
  }

  @Test(
    "Other public URLs are refused",
    arguments: [
      "", "notes.example.com", "ftp://a", "https://", "https:///x", "https://u:p@a", "https://a?x", "https://a#x",
      "https://a b",
      "https://ü", "https://a\"b", "https://a/\r\n", "https://" + String(repeating: "a", count: 600),
    ]
  )
  func invalidURL(text: String) {
    #expect(throws: PublicURLError.self) { try PublicURL(text) }
  }
}
