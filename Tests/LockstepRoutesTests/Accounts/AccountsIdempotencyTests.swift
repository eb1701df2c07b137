import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("Repeated writes to accounts", .timeLimit(.minutes(10)))
struct AccountsIdempotencyTests {
  private static let credentials = #"{"email":"ada@example.com","password":"correct horse","device":"phone"}"#
  private static let key = ["Idempotency-Key: 1"]

  private static func isSame(_ again: RawResponse, as first: RawResponse) -> Bool {
    IdempotencyTests.isSame(again, as: first)
  }

  @Test("A repeated sign-up makes one account and gets the same token, which the store does not contain")
  func signUp() async throws {
    try await ServerFixture.run { users in
      let first = try await users.post("/v1/users", Self.credentials, Self.key)
      #expect(first.status == 201)
      let token = try #require(first.json["token"]?.stringValue)
      for _ in 0..<2 {
        let again = try await users.post("/v1/users", Self.credentials, Self.key)
        #expect(Self.isSame(again, as: first), "\(again.text)")
        try await users.restart()
      }
      #expect(try await users.count("users") == 1)
      #expect(try await users.count("sessions") == 1)
      let kept = try await users.rows("SELECT fingerprint, fields, body FROM idempotency_keys").joined().joined()
      for secret in [token, "correct horse", "ada@"] { #expect(!kept.contains(secret)) }
      #expect(try await users.ask("GET", "/v1/me", token: token).status == 200)
      // Without the key it is another request.
      #expect(try await users.post("/v1/users", Self.credentials).problem == ProblemSummary("conflict"))
    }
  }

  @Test("A repeated login makes one session, whatever happens in between")
  func logIn() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let first = try await users.post("/v1/sessions", Self.credentials, Self.key)
      _ = try await ada.put("/v1/me/password", #"{"current":"correct horse","new":"battery staple"}"#)
      try await users.restart { $0.accounts.registration = .closed }
      let again = try await users.post("/v1/sessions", Self.credentials, Self.key)
      #expect(Self.isSame(again, as: first))
      #expect(try await users.count("sessions") == 1)
    }
  }

  @Test("The same key with another body is refused, and cannot be used to try passwords without a limit")
  func reused() async throws {
    try await ServerFixture.run { users in
      let first = try await users.post("/v1/users", Self.credentials, Self.key)
      for body in [
        Self.credentials.replacing("phone", with: "tablet"), Self.credentials.replacing("horse", with: "house"),
      ] {
        let response = try await users.post("/v1/users", body, Self.key)
        #expect(response.status == 422)
        #expect(response.problem == ProblemSummary("validation-failed"))
        #expect(try await users.post("/v1/sessions", body, Self.key).status == 422)
      }
      var status = 0
      for number in 0..<10 where status != 429 {
        status = try await users.post("/v1/users", Self.credentials.replacing("horse", with: "\(number)"), Self.key)
          .status
      }
      #expect(status == 429)
      try users.passAttempts(seconds: 600)
      #expect(Self.isSame(try await users.post("/v1/users", Self.credentials, Self.key), as: first))
    }
  }

  @Test("Different users may use the same key to sign up")
  func separate() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.post("/v1/users", Self.credentials, Self.key)
      let bob = try await users.post("/v1/users", Self.credentials.replacing("ada", with: "bob"), Self.key)
      #expect(ada.status == 201)
      #expect(bob.status == 201)
      #expect(bob.field("Idempotency-Replayed") == nil)
      #expect(ada.json["token"] != bob.json["token"])
    }
  }

  @Test("After the password was changed, the response to an earlier login is not repeated, because it contains a token")
  func changedPassword() async throws {
    try await ServerFixture.run { users in
      let first = try await users.post("/v1/users", Self.credentials, Self.key)
      let token = try #require(first.json["token"]?.stringValue)
      users.time.advance(by: 1)
      let body = #"{"current":"correct horse","new":"battery staple"}"#
      let fields = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
      #expect(try await users.ask("PUT", "/v1/me/password", fields, body: Array(body.utf8)).status == 204)
      let again = try await users.post("/v1/users", Self.credentials, Self.key)
      #expect(again.status == 409 && !again.text.contains(token))
      #expect(try await users.post("/v1/sessions", Self.credentials, Self.key).status == 401)
    }
  }

  @Test("After 24 hours, a repeated sign-up finds that the address is taken")
  func lifetime() async throws {
    try await ServerFixture.run { users in
      _ = try await users.post("/v1/users", Self.credentials, Self.key)
      users.time.advance(by: 86_400)
      #expect(try await users.post("/v1/users", Self.credentials, Self.key).problem == ProblemSummary("conflict"))
    }
  }

  @Test(
    "A repeated change of the password gets the first response, and the stored record does not help to guess passwords"
  )
  func password() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let body = #"{"current":"correct horse","new":"battery staple"}"#
      let first = try await ada.put("/v1/me/password", body, Self.key)
      #expect(first.status == 204)
      try await users.restart()
      #expect(Self.isSame(try await ada.put("/v1/me/password", body, Self.key), as: first))
      let other = try await ada.put("/v1/me/password", body.replacing("staple", with: "pebble"), Self.key)
      #expect(other.problem == ProblemSummary("validation-failed"))
      #expect(try await users.logIn(password: "battery staple").get("/v1/me").status == 200)
      // The stored fingerprint has a key, so that it cannot be computed from a guessed password.
      let guessed = IdempotencyKey("1", method: "PUT", target: "/v1/me/password", body: Array(body.utf8))
      let kept = try await users.rows(
        TestSQL(
          sqlite: "SELECT lower(hex(fingerprint)) FROM idempotency_keys",
          postgreSQL: "SELECT encode(fingerprint, 'hex') FROM idempotency_keys"
        )
      )
      #expect(kept.count == 1)
      #expect(kept != [[hexadecimal(guessed.fingerprint)]])
    }
  }

  @Test("A refusal for a wrong password is repeated")
  func refusal() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let body = #"{"current":"wrong horse","new":"battery staple"}"#
      let first = try await ada.put("/v1/me/password", body, Self.key)
      #expect(first.problem == ProblemSummary("forbidden"))
      #expect(Self.isSame(try await ada.put("/v1/me/password", body, Self.key), as: first))
      let erasure = try await ada.ask("DELETE", "/v1/me", #"{"password":"wrong horse"}"#, Self.key)
      #expect(erasure.problem == ProblemSummary("forbidden"))
      #expect(Self.isSame(try await ada.ask("DELETE", "/v1/me", #"{"password":"wrong horse"}"#, Self.key), as: erasure))
    }
  }

  @Test("A repeated end of a session succeeds, also if a device ends its own")
  func revoke() async throws {
    try await ServerFixture.run { users in
      let (ada, tablet) = (try await users.signUp(), try await users.logIn())
      let first = try await ada.delete("/v1/sessions/\(tablet.session)", Self.key)
      #expect(first.status == 204)
      #expect(Self.isSame(try await ada.delete("/v1/sessions/\(tablet.session)", Self.key), as: first))
      #expect(try await ada.delete("/v1/sessions/\(tablet.session)").problem == ProblemSummary("not-found"))

      let other = ["Idempotency-Key: 2"]
      let out = try await ada.delete("/v1/sessions/current", other)
      #expect(out.status == 204)
      for _ in 0..<2 {
        #expect(Self.isSame(try await ada.delete("/v1/sessions/current", other), as: out))
        #expect(try await ada.delete("/v1/sessions/current").status == 401)
        #expect(try await ada.delete("/v1/sessions/current", Self.key).status == 401)
        #expect(try await tablet.delete("/v1/sessions/current", other).status == 401)
        #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"correct horse"}"#, other).status == 422)
        #expect(try await ada.get("/v1/me", other).status == 401)
        try await users.restart()
      }
    }
  }

  @Test("A repeated erasure succeeds, and the stored record does not identify the user")
  func erase() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let body = #"{"password":"correct horse"}"#
      let first = try await ada.ask("DELETE", "/v1/me", body, Self.key)
      #expect(first.status == 204)
      try await users.restart()
      #expect(Self.isSame(try await ada.ask("DELETE", "/v1/me", body, Self.key), as: first))
      #expect(try await ada.ask("DELETE", "/v1/me", body).status == 401)
      #expect(try await ada.ask("DELETE", "/v1/me", body.replacing("horse", with: "house"), Self.key).status == 422)
      #expect(try await users.count("users") == 0)
      let kept = try await users.rows("SELECT * FROM outsider_keys").joined().joined()
      for trace in [ada.user, ada.session, ada.token, "ada", "correct horse"] { #expect(!kept.contains(trace)) }
    }
  }

  @Test("A refused erasure or logout stores no personal data that would outlive the user")
  func refusedErasure() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp(device: "Ada's telephone")
      let erasure = #"{"password":"correct horse"}"#
      let stale = #"If-Match: "x""#
      let refusal = try await ada.ask("DELETE", "/v1/me", erasure, ["Idempotency-Key: 1", stale])
      #expect(refusal.problem == ProblemSummary("precondition-failed"))
      #expect(refusal.json["current"]?["email"] == "ada@example.com")
      let logout = try await ada.delete("/v1/sessions/current", ["Idempotency-Key: 2", stale])
      #expect(logout.json["current"]?["id"]?.stringValue == ada.session)
      #expect(try await ada.ask("DELETE", "/v1/me", erasure, ["Idempotency-Key: 3"]).status == 204)

      let traces = [ada.user, ada.session, "ada@example.com", "Ada's telephone"]
      let kept = try await users.rows("SELECT * FROM outsider_keys").joined().joined()
      for trace in traces { #expect(!kept.contains(trace), "\(trace)") }
      await users.stop()
      let stored = try await users.storedText()
      for trace in traces { #expect(!stored.contains(trace), "\(trace)") }
    }
  }

  @Test("A repeated write of the administrator is applied once")
  func administrator() async throws {
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
    } _: { users in
      let path = "/v1/admin/registered/standard"
      let first = try await users.administer("PATCH", path, #"{"a":1}"#, Self.key)
      #expect(first.status == 200)
      try await users.register("standard", #"{"b":2}"#)
      try await users.restart()
      #expect(Self.isSame(try await users.administer("PATCH", path, #"{"a":1}"#, Self.key), as: first))
      #expect(
        try await users.administer("PATCH", path, #"{"a":2}"#, Self.key).problem == ProblemSummary("validation-failed")
      )
      #expect(try await users.administer("GET", path).json["values"] == ["b": 2])
      let refused = ["Idempotency-Key: 2", #"If-Match: "x""#]
      let refusal = try await users.administer("PATCH", path, #"{"c":1}"#, refused)
      #expect(refusal.status == 412)
      #expect(Self.isSame(try await users.administer("PATCH", path, #"{"c":1}"#, refused), as: refusal))
    }
  }

  @Test("A request that is sent several times at the same time is applied once")
  func atOnce() async throws {
    try await ServerFixture.run { users in
      let responses = try await withThrowingTaskGroup(of: RawResponse.self) { group in
        for _ in 0..<6 { group.addTask { try await users.post("/v1/users", Self.credentials, Self.key) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      // A client whose request arrives while the first one runs gets 409 and must retry.
      #expect(responses.allSatisfy { [201, 409].contains($0.status) })
      #expect(Set(responses.filter { $0.status == 201 }.map(\.body)).count == 1)
      #expect(try await users.count("sessions") == 1)
      for _ in 0..<2 { #expect(try await users.post("/v1/users", Self.credentials, Self.key).status == 201) }
    }
  }
}
