import Testing

@testable import LockstepMail

@Suite("The URL of a mail relay", .timeLimit(.minutes(10)))
struct MailRelayTests {
  @Test(
    "A URL gives scheme, host, port and whether TLS is required",
    arguments: [
      ("smtp://mail.example.com", "smtp://mail.example.com:587", true),
      ("SMTP://Mail.Example.com:25/", "smtp://mail.example.com:25", true),
      ("smtps://mail.example.com", "smtps://mail.example.com:465", true),
      ("smtps://127.0.0.1", "smtps://127.0.0.1:465", true),
      ("smtp://127.0.0.1:25", "smtp://127.0.0.1:25", false), ("smtp://localhost", "smtp://localhost:587", false),
      ("smtp://[::1]:25", "smtp://[::1]:25", false), ("smtp://[2001:db8::1]", "smtp://[2001:db8::1]:587", true),
      ("smtp://127.0.0.1:25?tls=required", "smtp://127.0.0.1:25", true),
      ("smtp://10.0.0.7?tls=none", "smtp://10.0.0.7:587", false),
      ("smtp://10.0.0.7/?tls=none", "smtp://10.0.0.7:587", false),
      ("smtp://127.example.com", "smtp://127.example.com:587", true),
      ("smtp://127.0.0.1.example.com", "smtp://127.0.0.1.example.com:587", true),
    ]
  )
  func valid(text: String, description: String, requiresTLS: Bool) throws {
    let relay = try MailRelay(text)
    #expect(relay.description == description && relay.requiresTLS == requiresTLS && relay.login == nil)
  }

  @Test("The login is percent-decoded, and no description shows it")
  func login() throws {
    let relay = try MailRelay("smtps://ada%40example.com:p%3A%2F%40ss:w@mail.example.com")
    #expect(relay.login == MailRelay.Login(user: "ada@example.com", password: "p:/@ss:w"))
    var text = ""
    dump(relay, to: &text)
    for shown in ["\(relay)", String(reflecting: relay), text] {
      #expect(!shown.contains("ada") && !shown.contains("ss"), "\(shown)")
    }
    #expect(try MailRelay("smtp://a:b@127.0.0.1").login != nil)
    #expect(try MailRelay("smtp://a:b@127.0.0.1?tls=none").login != nil)
  }

  @Test(
    "Any other text is refused with a reason",
    arguments: [
      ("", "must begin with"), ("mail.example.com", "must begin with"), ("http://a", "must begin with"),
      ("smtp://", "must have a valid host"), ("smtp://a b", "percent-encode"), ("smtp://ü", "percent-encode"),
      ("smtp://a\r\nb", "percent-encode"), ("smtp://a:0", "port"), ("smtp://a:65536", "port"), ("smtp://a:x", "port"),
      ("smtp://a:", "port"), ("smtp://[::1", "must have a valid host"), ("smtp://[x]", "must have a valid host"),
      ("smtp://a@b@c", "more than one @"), ("smtp://user@host", "must have a user and a password"),
      ("smtp://:p@host", "must have a user and a password"), ("smtp://u:%@host", "must have a user and a password"),
      ("smtp://u:%0d%0a@host", "must have a user and a password"),
      ("smtp://u:%ff@host", "must have a user and a password"),
      ("smtp://a/b", "nothing after the port"), ("smtp://a?tls=maybe", "nothing after the port"),
      ("smtps://a?tls=none", "always encrypted"), ("smtp://u:secret@a?tls=none", "without encryption"),
      ("smtp://" + String(repeating: "a", count: 2_048), "longer than 2048"),
    ]
  )
  func invalid(text: String, reason: String) {
    #expect {
      try MailRelay(text)
    } throws: {
      "\($0)".contains(reason) && !"\($0)".contains("secret")
    }
  }
}
