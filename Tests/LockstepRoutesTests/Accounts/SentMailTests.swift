import LockstepJSON
import LockstepMail
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The server sends mails through a relay", .timeLimit(.minutes(10)))
struct SentMailTests {
  private static func run(
    _ relay: FakeRelay,
    templates: String? = nil,
    _ body: (ServerFixture) async throws -> Void
  ) async throws {
    var mail = MailConfiguration()
    mail.relay = try MailRelay(relay.url.replacing("smtp://", with: "smtp://user:secret@"))
    mail.sender = try MailSender("Notes <notes@example.com>")
    mail.publicURL = try PublicURL("https://notes.example.com/app/")
    mail.templates = try templates.map { try MailTemplates(folder: $0) }
    let settings = mail
    try await ServerFixture.run(
      {
        $0.administratorToken = ServerFixture.administrator
        $0.mail = settings
      },
      body
    )
  }

  /// The decoded lines of all parts.
  private static func text(_ relay: FakeRelay) -> String {
    relay.lines.joined(separator: "\n") + "\n"
      + relay.lines.split(separator: "").flatMap { $0 }.compactMap { line in
        Base64Text.decoded(line)
      }
      .joined()
  }

  private static func status(_ users: ServerFixture, _ number: Int = 0) async throws -> String? {
    let rows = try await users.rows("SELECT status, attempts FROM deliveries WHERE webhook = -1 ORDER BY number")
    return rows.dropFirst(number).first?.joined(separator: " ")
  }

  @Test("A forgotten password: the mail has a link whose token sets another one; the status has no password")
  func reset() async throws {
    let relay = try FakeRelay()
    try await Self.run(relay) { users in
      let status = try await users.admin.get("/v1/admin/status")
      #expect(status.text.contains(relay.url) && status.text.contains("https://notes.example.com/app"))
      #expect(!status.text.contains("secret") && !users.log.text.contains("secret"))
      #expect(users.log.text.contains("the server sends mails through this relay"))
      _ = try await users.signUp()
      async let served: Void = relay.serve()
      let body = #"{"email":"ada@example.com"}"#
      #expect(try await users.post("/v1/password-resets", body, ["Accept-Language: de"]).status == 202)
      try await eventually {
        users.deliver()
        return try await Self.status(users) == "1 1"
      }
      await served
      let text = Self.text(relay)
      #expect(text.contains("MAIL FROM:<notes@example.com>") && text.contains("RCPT TO:<ada@example.com>"))
      #expect(text.contains("Content-Language: de"))
      let link = try #require(
        text.firstMatch(of: /https:\/\/notes.example.com\/app\/account\/reset#token=([0-9a-f]{64})/)
      )
      let password = Array(#"{"password":"battery staple"}"#.utf8)
      #expect(try await users.ask("PUT", "/v1/password-resets/\(link.1)", body: password).status == 204)
      _ = try await users.logIn(password: "battery staple")
    }
  }

  @Test("A relay that refuses the recipient for good is not asked again, and the log says why")
  func refused() async throws {
    let relay = try FakeRelay(["RCPT": .reply("550 no such user")])
    try await Self.run(relay) { users in
      _ = try await users.signUp()
      async let served: Void = relay.serve()
      #expect(try await users.post("/v1/password-resets", #"{"email":"ada@example.com"}"#).status == 202)
      try await eventually {
        users.deliver()
        return try await Self.status(users) == "2 1"
      }
      await served
      #expect(users.log.text.contains("an attempt to send a mail failed") && users.log.text.contains("kind=refused"))
      // The worker logs it after the commit.
      await eventually { users.log.text.contains("a mail was given up") }
    }
  }

  @Test("After a change of the address, the old one gets a mail")
  func changed() async throws {
    let relay = try FakeRelay()
    try await Self.run(relay) { users in
      let ada = try await users.signUp()
      let body = #"{"email":"new@example.com","password":"correct horse"}"#
      #expect(try await ada.put("/v1/me/email", body, ["Accept-Language: fr"]).status == 202)
      async let first: Void = relay.serve()
      try await eventually {
        users.deliver()
        return try await Self.status(users) == "1 1"
      }
      await first
      let text = Self.text(relay)
      #expect(text.contains("RCPT TO:<new@example.com>") && !text.contains("RCPT TO:<ada@example.com>"))
      let token = try #require(text.firstMatch(of: /confirm#token=([0-9a-f]{64})/)).1
      #expect(try await users.ask("POST", "/v1/email-proofs/\(token)", ["Accept-Language: fr"]).status == 204)
      async let second: Void = relay.serve()
      try await eventually {
        users.deliver()
        return try await Self.status(users, 1) == "1 1"
      }
      await second
      #expect(Self.text(relay).contains("RCPT TO:<ada@example.com>"))
      let types = try await users.rows("SELECT type FROM deliveries ORDER BY number").map { $0[0] }
      #expect(types == ["email.proof", "email.changed"])
    }
  }

  @Test("A webhook cannot be subscribed to the mail for the old address")
  func subscriptions() async throws {
    try await ServerFixture.administered { users in
      let body = #"{"url":"https://a.example/","events":["email.changed"]}"#
      let response = try await users.admin.put("/v1/admin/webhooks/main", body)
      #expect(response.problem == ProblemSummary("validation-failed", "/events/0"))
    }
  }
}

private enum Base64Text {
  /// The text of a line of base64; nil if it is none.
  static func decoded(_ line: String) -> String? {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var (bytes, bits, count) = ([UInt8](), 0, 0)
    for byte in line.utf8 where byte != UInt8(ascii: "=") {
      guard let value = alphabet.firstIndex(of: byte) else { return nil }
      (bits, count) = (bits << 6 & 0xFFFF | value, count + 6)
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
