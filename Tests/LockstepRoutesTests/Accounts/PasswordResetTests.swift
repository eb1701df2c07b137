import LockstepJSON
import LockstepMiddleware
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepWebhooks

@Suite("A mail resets the password", .timeLimit(.minutes(10)))
struct PasswordResetTests {
  @Test("Each route exists only while the server or a webhook sends its mails")
  func availability() async throws {
    try await MailFixture.run(["email.proof"]) { mail in
      let ada = try await mail.users.signUp()
      for (method, path) in [("POST", "/v1/password-resets"), ("PUT", "/v1/password-resets/x")] {
        let body = method == "POST" ? #"{"email":"ada@example.com"}"# : #"{"password":"correct horse"}"#
        let response = try await mail.users.ask(method, path, body: Array(body.utf8))
        #expect(response.problem == ProblemSummary("not-found"))
        #expect(response.json["detail"]?.stringValue?.contains("password.reset") == true)
      }
      #expect(try await mail.askForProof("ada@example.com", of: ada).status == 202)
      #expect(try await mail.users.admin.delete("/v1/admin/webhooks/mailer").status == 204)
      #expect(try await mail.askForProof("ada@example.com", of: ada).problem == ProblemSummary("not-found"))
      #expect(try await mail.prove("x").problem == ProblemSummary("not-found"))
    }
  }

  @Test("The token of the mail sets a password once, ends all sessions, and verifies the address")
  func reset() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      let other = try await mail.users.logIn()
      _ = try await ada.put("/v1/defaults/standard/language", #""FR""#)
      _ = try await mail.users.admin.patch("/v1/admin/registered/standard", #"{"language":"es_MX"}"#)
      try await mail.ask("ADA@example.com", ["Accept-Language: de-AT, en;q=0.5, fr;q=0.4"])
      try await mail.ask()
      let events = await mail.events(2)
      #expect(events[0]["user"]?.stringValue == ada.user && events[0]["email"] == "ada@example.com")
      // The registered language counts less than those of the request.
      #expect(events[0]["languages"] == ["fr", "de-at", "en", "es-mx"])
      #expect(events[1]["languages"] == ["fr", "es-mx"])
      #expect(events[0]["expiresAt"] == "1994-11-06T09:19:37.000Z")
      let tokens = events.compactMap { $0["token"]?.stringValue }
      #expect(tokens.allSatisfy { $0.count == 64 } && Set(tokens).count == 2)
      #expect(try await ada.get("/v1/me").json["emailVerified"] == false)
      // A refused password leaves the link as it is.
      for password in ["short", "ada@example.com"] {
        let refused = try await mail.reset(tokens[0], to: password)
        #expect(refused.problem == ProblemSummary("validation-failed", "/password"))
      }
      #expect(try await mail.links() == 2)
      let done = try await mail.reset(tokens[0], to: "battery staple")
      #expect(done.status == 204 && done.field("Cache-Control") == "no-store")
      for device in [ada, other] { #expect(try await device.get("/v1/me").status == 401) }
      let login = try await mail.users.post("/v1/sessions", #"{"email":"ada@example.com","password":"correct horse"}"#)
      #expect(login.status == 401)
      let again = try await mail.users.logIn(password: "battery staple")
      #expect(try await again.get("/v1/me").json["emailVerified"] == true)
      for token in tokens {
        #expect(try await mail.reset(token, to: "another password").problem == ProblemSummary("not-found"))
      }
      #expect(try await mail.links() == 0)
    }
  }

  @Test("A client cannot learn who has an account: no response, no event and no row differs")
  func silence() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      _ = try await mail.users.post("/v1/users", #"{"anonymous":true}"#)
      let disabled = try await mail.users.signUp("disabled")
      #expect(try await mail.users.admin.patch(disabled.administered(), #"{"disabled":true}"#).status < 300)
      let known = try await mail.ask()
      for email in ["unknown@example.com", "disabled@example.com", "no address", "", "a@b@c"] {
        let response = try await mail.ask(email)
        #expect(response.fields == known.fields && response.body == known.body)
      }
      #expect(await mail.events(1).first?["user"]?.stringValue == ada.user)
      #expect(try await mail.links() == 1)
      for body in ["{}", #"{"email":1}"#, #"{"email":null}"#] {
        let response = try await mail.users.post("/v1/password-resets", body)
        #expect(response.problem == ProblemSummary("validation-failed", "/email"))
      }
    }
  }

  @Test("Neither the store nor the log has the token")
  func secrecy() async throws {
    try await MailFixture.run {
      $0.accessLog = true
    } _: { mail in
      _ = try await mail.users.signUp()
      try await mail.ask()
      let token = try await mail.token()
      for response in [
        try await mail.reset(token, to: "short"), try await mail.users.ask("GET", "/v1/password-resets/\(token)"),
        try await mail.users.ask("GET", "/v1/password-resets/\(token)/"),
        try await mail.users.ask("GET", "/app/v1/email-proofs/\(token)?x=1"), try await mail.prove(token),
        // A mail program has encoded the # of the link.
        try await mail.users.ask("GET", "/account/reset%23token=\(token)"),
        try await mail.users.ask("PUT", "/v1/me/email/\(token.uppercased())"),
      ] {
        #expect(response.status >= 400 && !response.text.contains(token), "\(response.text)")
      }
      #expect(try await mail.reset(token, to: "battery staple", ["Idempotency-Key: k"]).status == 204)
      #expect(!mail.users.log.text.lowercased().contains(token))
      #expect(mail.users.log.text.contains("method=PUT path=/v1/password-resets/{token} status=204"))
      #expect(mail.users.log.text.contains("path=/* status=404"))
      #expect(!(try await mail.users.storedText()).contains(token))
    }
  }

  @Test("A repeated request with its key sends one mail, and uses a token once")
  func idempotency() async throws {
    try await MailFixture.run { mail in
      _ = try await mail.users.signUp()
      for isReplay in [false, true] {
        let response = try await mail.ask("ada@example.com", ["Idempotency-Key: a"])
        #expect((response.field("Idempotency-Replayed") == "true") == isReplay)
      }
      let token = try await mail.token()
      #expect(try await mail.links() == 1)
      let key = ["Idempotency-Key: b"]
      for isReplay in [false, true] {
        let response = try await mail.reset(token, to: "battery staple", key)
        #expect(response.status == 204 && (response.field("Idempotency-Replayed") == "true") == isReplay)
      }
      #expect(try await mail.reset(token, to: "another password", key).problem == ProblemSummary("validation-failed"))
      _ = try await mail.users.logIn(password: "battery staple")
    }
  }

  @Test("Of two uses of a token at once, one succeeds")
  func race() async throws {
    try await MailFixture.run { mail in
      _ = try await mail.users.signUp()
      for round in 1...5 {
        try await mail.ask()
        let token = try await mail.token(round)
        try mail.users.passAttempts(seconds: 600)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
          for number in 0..<4 {
            group.addTask { try await mail.reset(token, to: "password \(round) \(number)").status }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [204, 404, 404, 404])
      }
    }
  }

  @Test("A token works for 30 minutes. Then its row is deleted")
  func expiry() async throws {
    try await MailFixture.run { mail in
      _ = try await mail.users.signUp()
      try await mail.ask()
      try await mail.ask()
      let tokens = await mail.events(2).compactMap { $0["token"]?.stringValue }
      mail.users.time.advance(by: 30 * 60 - 1)
      #expect(try await mail.reset(tokens[0], to: "short").status == 422)
      mail.users.time.advance(by: 1)
      #expect(try await mail.reset(tokens[1], to: "battery staple").problem == ProblemSummary("not-found"))
      #expect(try await mail.links() == 2)
      try await mail.users.running.withLock({ $0?.services.users.delivery.worker })?.upkeep()
      #expect(try await mail.links() == 0)
    }
  }

  @Test("A token does not work after the address or the password has changed, or for a disabled user")
  func changes() async throws {
    try await MailFixture.run { mail in
      let ada = try await mail.users.signUp()
      try await mail.ask()
      let first = try await mail.token()
      #expect(try await mail.users.admin.patch(ada.administered(), #"{"email":"new@example.com"}"#).status < 300)
      #expect(try await mail.reset(first, to: "battery staple").status == 404)
      try await mail.ask("new@example.com")
      let second = try await mail.token(2)
      let change = #"{"current":"correct horse","new":"battery staple"}"#
      #expect(try await ada.put("/v1/me/password", change).status == 204)
      #expect(try await mail.reset(second, to: "another password").status == 404)
      try await mail.ask("new@example.com")
      let third = try await mail.token(3)
      #expect(try await mail.users.admin.patch(ada.administered(), #"{"disabled":true}"#).status < 300)
      #expect(try await mail.reset(third, to: "another password").problem == ProblemSummary("forbidden"))
    }
  }

  @Test("Past the limits of an address and of a network, no mails are sent, and the response is the same")
  func limits() async throws {
    try await MailFixture.run {
      $0.accounts.attempts.mailsPerAddress = RateLimit(requests: 1, seconds: 600, burst: 3)
      // In PostgreSQL, the limits count real time, which must not allow another mail during the test.
      $0.accounts.attempts.mailsPerNetwork = RateLimit(requests: 1, seconds: 300, burst: 7)
    } _: { mail in
      _ = try await mail.users.signUp("ada")
      _ = try await mail.users.signUp("bob")
      _ = try await mail.users.signUp("eve")
      for _ in 0..<5 { try await mail.ask("ada@example.com") }
      for name in ["bob", "bob", "eve", "eve"] { try await mail.ask("\(name)@example.com") }
      let sent = await mail.events(5).compactMap { $0["email"]?.stringValue }
      #expect(sent.filter { $0 == "ada@example.com" }.count == 3 && sent.filter { $0 == "bob@example.com" }.count == 2)
      // The clock stands still, so a second line would come too early.
      let lines = mail.users.log.text.split(separator: "\n")
      #expect(lines.count { $0.contains("a mail past a limit was not sent") } == 1)
      try mail.users.passAttempts(seconds: 600)
      for _ in 0..<2 { try await mail.ask("ada@example.com") }
      #expect(await mail.events(6).last?["email"] == "ada@example.com")
    }
  }

  @Test("When too many requests wait, the next one is refused, and those that wait are served")
  func queue() async throws {
    try await MailFixture.run {
      $0.trustedProxies = [IPNetwork("127.0.0.1/32")].compactMap { $0 }
    } _: { mail in
      _ = try await mail.users.signUp()
      let writer = try await mail.users.holdWriter()
      func ask(from number: Int) async throws -> RawResponse {
        let network = "X-Forwarded-For: 10.0.\(number / 250).\(number % 250)"
        return try await mail.users.post("/v1/password-resets", #"{"email":"ada@example.com"}"#, [network])
      }
      #expect(try await ask(from: 0).status == 202)
      // The first request waits for the writer, and no longer in the queue.
      await eventually { writer.waiting >= 1 }
      for number in 1...MailQueue.capacity { #expect(try await ask(from: number).status == 202) }
      try await eventually {
        let response = try await ask(from: 500)
        return response.status == 503 && response.field("Retry-After") != nil
      }
      writer.letGo()
      await mail.settle()
      #expect(await mail.events(5).count == 5)
      try await mail.users.restart()
      #expect(await mail.events(5).count == 5)
    }
  }

  @Test("One network cannot fill the queue, and a server that stops does not wait for the random delay")
  func fullNetwork() async throws {
    try await MailFixture.run {
      $0.trustedProxies = [IPNetwork("127.0.0.1/32")].compactMap { $0 }
      $0.accounts.mailDelay = .seconds(3000) ... .seconds(3600)
    } _: { mail in
      _ = try await mail.users.signUp("ada")
      _ = try await mail.users.signUp("bob")
      for number in 0..<300 {
        let body = #"{"email":"\#(number)@example.com"}"#
        #expect(try await mail.users.post("/v1/password-resets", body).status == 202)
      }
      let other = ["X-Forwarded-For: 10.0.0.1"]
      #expect(try await mail.users.post("/v1/password-resets", #"{"email":"bob@example.com"}"#, other).status == 202)
      try await mail.users.restart()
      #expect(await mail.events(1).first?["email"] == "bob@example.com")
    }
  }

  @Test("Requests for an address without an account do not count for a later account")
  func unknownAddress() async throws {
    try await MailFixture.run { mail in
      for _ in 0..<8 { try await mail.ask() }
      _ = try await mail.users.signUp()
      try await mail.ask()
      #expect(await mail.events(1).first?["email"] == "ada@example.com")
    }
  }

  @Test("A request that was accepted before a restart is delivered after it, with a token that works")
  func restart() async throws {
    try await MailFixture.run { mail in
      _ = try await mail.users.signUp()
      _ = try await mail.users.post("/v1/password-resets", #"{"email":"ada@example.com"}"#)
      try await mail.users.restart()
      let token = try await mail.token()
      #expect(try await mail.reset(token, to: "battery staple").status == 204)
    }
  }
}
