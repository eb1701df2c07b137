import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("A mail proves an e-mail address", .timeLimit(.minutes(10)))
struct EmailProofTests {
  private static let event = "email.proof"

  @Test("The address changes when the token of the mail is used, and the sessions go on")
  func change() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      try await mail.ask()
      let reset = try await mail.token()
      let wrong = try await mail.askForProof("New@example.com", of: ada, password: "wrong horse")
      #expect(wrong.problem == ProblemSummary("forbidden"))
      let invalid = try await mail.askForProof("no address", of: ada)
      #expect(invalid.problem == ProblemSummary("validation-failed", "/email"))
      let asked = try await mail.askForProof("New@example.com", of: ada)
      #expect(asked.status == 202 && asked.body.isEmpty)
      #expect(try await ada.get("/v1/me").json["email"] == "ada@example.com")
      let event = try #require(await mail.events(1, of: Self.event).last)
      #expect(event["email"] == "New@example.com" && event["user"]?.stringValue == ada.user)
      let token = try #require(event["token"]?.stringValue)
      #expect(try await mail.prove("\(token)0").problem == ProblemSummary("not-found"))
      #expect(try await mail.reset(token, to: "battery staple").problem == ProblemSummary("not-found"))
      #expect(try await mail.prove(token).status == 204)
      let me = try await ada.get("/v1/me").json
      #expect(me["email"] == "New@example.com" && me["emailVerified"] == true)
      #expect(try await mail.prove(token).problem == ProblemSummary("not-found"))
      #expect(try await mail.reset(reset, to: "battery staple").problem == ProblemSummary("not-found"))
      _ = try await mail.users.logIn("new")
    }
  }

  @Test("The own address is verified, without a change of its spelling or of other links")
  func own() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      try await mail.ask()
      #expect(try await mail.askForProof("ADA@Example.com", of: ada, ["Idempotency-Key: a"]).status == 202)
      let again = try await mail.askForProof("ADA@Example.com", of: ada, ["Idempotency-Key: a"])
      #expect(again.status == 202 && again.field("Idempotency-Replayed") == "true")
      let event = try #require(await mail.events(1, of: Self.event).last)
      #expect(event["email"] == "ada@example.com")
      #expect(try await mail.prove(try #require(event["token"]?.stringValue)).status == 204)
      let me = try await ada.get("/v1/me").json
      #expect(me["email"] == "ada@example.com" && me["emailVerified"] == true)
      #expect(try await mail.reset(try await mail.token(), to: "battery staple").status == 204)
    }
  }

  @Test("An address in another encoding is another address, which gets the mail and ends earlier links")
  func otherEncoding() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp("jos\u{E9}")
      let (first, other) = ("jos\u{E9}@example.com", "jose\u{301}@example.com")
      try await mail.ask(first)
      let reset = try await mail.token()
      #expect(try await mail.askForProof(other, of: ada).status == 202)
      let event = try #require(await mail.events(1, of: Self.event).last)
      #expect(event["email"] == .string(other))
      #expect(try await mail.prove(try #require(event["token"]?.stringValue)).status == 204)
      #expect(try await ada.get("/v1/me").json["email"] == .string(other))
      #expect(try await mail.reset(reset, to: "battery staple").problem == ProblemSummary("not-found"))
      _ = try await mail.users.logIn("jose\u{301}")
      // Another user may have the former address.
      _ = try await mail.users.signUp("jos\u{E9}")
    }
  }

  @Test("An address of another user gets no mail, and one that was taken meanwhile is a conflict")
  func taken() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      _ = try await mail.users.signUp("bob")
      #expect(try await mail.askForProof("Bob@example.com", of: ada).status == 202)
      #expect(try await mail.askForProof("eve@example.com", of: ada).status == 202)
      let token = try await mail.token(of: Self.event)
      _ = try await mail.users.signUp("eve")
      for _ in 0..<2 {
        let response = try await mail.prove(token, ["Idempotency-Key: a"])
        #expect(response.problem == ProblemSummary("conflict"))
      }
      #expect(try await ada.get("/v1/me").json["email"] == "ada@example.com")
    }
  }

  @Test("A user without a password gets a problem that says what to do")
  func withoutPassword() async throws {
    try await MailFixture.run { mail in
      let response = try await mail.users.post("/v1/users", #"{"anonymous":true}"#)
      let token = try #require(response.json["token"]?.stringValue)
      let visitor = Device(users: mail.users, token: token, user: "", session: "")
      let refused = try await mail.askForProof("ada@example.com", of: visitor)
      #expect(refused.problem == ProblemSummary("conflict"))
      #expect(refused.json["detail"]?.stringValue?.contains("/v1/me/credentials") == true)
    }
  }

  @Test("A change that was confirmed with an old password does not happen")
  func oldPassword() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      #expect(try await mail.askForProof("thief@example.com", of: ada).status == 202)
      let token = try await mail.token(of: Self.event)
      try await mail.ask()
      #expect(try await mail.reset(try await mail.token(), to: "battery staple").status == 204)
      #expect(try await mail.prove(token).problem == ProblemSummary("not-found"))
      #expect(try await ada.get("/v1/me").status == 401)
    }
  }

  @Test("Requests of another user for a taken address do not use up the mails of its owner")
  func othersRequests() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp("ada")
      let eve = try await mail.users.signUp("eve")
      for _ in 0..<8 { #expect(try await mail.askForProof("ada@example.com", of: eve).status == 202) }
      try await mail.ask()
      #expect(await mail.events(1).first?["user"]?.stringValue == ada.user)
      #expect(try await mail.askForProof("ada@example.com", of: ada).status == 202)
      #expect(await mail.events(1, of: "email.proof").first?["user"]?.stringValue == ada.user)
    }
  }

  @Test("A session sends a limited number of mails, to any addresses")
  func limits() async throws {
    try await MailFixture.run {
      $0.accounts.attempts.mailsPerSession = RateLimit(requests: 1, seconds: 600, burst: 2)
    } _: { mail in
      let ada = try await mail.users.signUp()
      for number in 0..<4 { #expect(try await mail.askForProof("a\(number)@example.com", of: ada).status == 202) }
      #expect(await mail.events(2, of: Self.event).count == 2)
      #expect(try await mail.links() == 2)
    }
  }
}
