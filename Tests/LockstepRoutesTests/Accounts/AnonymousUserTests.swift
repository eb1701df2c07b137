import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Anonymous users and their first credentials", .timeLimit(.minutes(10)))
struct AnonymousUserTests {
  private static let credentials = #"{"email":"Ada@Example.com","password":"correct horse"}"#
  private static let key = "Idempotency-Key: 0d0e7c2e-6f2c-4f43-9a53-2f6a4e3d9b11"

  private func signUp(_ users: ServerFixture, _ body: String = #"{"anonymous":true}"#) async throws -> Device {
    let response = try await users.post("/v1/users", body)
    try #require(response.status == 201, "\(response.text)")
    return try Device(response, users)
  }

  @Test("An anonymous user has a state of their own, and neither an address nor a password")
  func state() async throws {
    try await ServerFixture.run { users in
      let response = try await users.post("/v1/users", #"{"anonymous":true,"device":"phone"}"#)
      #expect(response.status == 201 && response.field("Location") == "/v1/me")
      #expect(response.json["user"]?["email"] == .null && response.json["user"]?["anonymous"] == true)
      #expect(response.json["session"]?["device"] == "phone")
      let (ada, bob) = (try Device(response, users), try await signUp(users))
      #expect(ada.user != bob.user)
      try await ada.addFavorites("a")
      #expect(try await ada.favoriteIDs() == ["a"])
      #expect(try await bob.favoriteIDs() == [])
      let export = try await ada.get("/v1/me/export").json
      #expect(export["user"]?["email"] == .null && export["user"]?["passwordChangedAt"] == nil)
    }
  }

  @Test("Credentials turn an anonymous user into one who logs in, with the same id, state and sessions")
  func upgrade() async throws {
    try await ServerFixture.run { users in
      let ada = try await signUp(users)
      try await ada.addFavorites("a", "b")
      let changed = try await ada.put("/v1/me/credentials", Self.credentials)
      #expect(changed.status == 200)
      #expect(changed.body == (try await ada.get("/v1/me")).body)
      #expect(changed.field("ETag") == (try await ada.get("/v1/me")).field("ETag"))
      #expect(changed.json["id"]?.stringValue == ada.user && changed.json["email"] == "Ada@Example.com")
      #expect(changed.json["emailVerified"] == false && changed.json["anonymous"] == nil)
      let tablet = try await users.logIn()
      #expect(tablet.user == ada.user)
      #expect(try await tablet.favoriteIDs() == ["a", "b"])
      #expect(try await ada.favoriteIDs() == ["a", "b"])
    }
  }

  @Test("Credentials are set once, and not those of another account")
  func conflicts() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await signUp(users), try await signUp(users))
      #expect(try await ada.put("/v1/me/credentials", Self.credentials).status == 200)
      let again = #"{"email":"ada2@example.com","password":"correct horse"}"#
      #expect(try await ada.put("/v1/me/credentials", again).problem == ProblemSummary("conflict"))
      #expect(try await bob.put("/v1/me/credentials", Self.credentials).problem == ProblemSummary("conflict"))
      let invalid = try await bob.put("/v1/me/credentials", #"{"email":"bob","password":"short","name":1}"#)
      #expect(invalid.problem == ProblemSummary("validation-failed", "/email", "/password", "/name"))
      #expect(try await bob.get("/v1/me").json["anonymous"] == true)
      let named = try await users.signUp("eve")
      #expect(try await named.put("/v1/me/credentials", again).problem == ProblemSummary("conflict"))
    }
  }

  @Test("Setting credentials is conditional on the account, and takes an idempotency key")
  func preconditions() async throws {
    try await ServerFixture.run { users in
      let ada = try await signUp(users)
      let tag = try #require(try await ada.get("/v1/me").field("ETag"))
      let stale = try await ada.put("/v1/me/credentials", Self.credentials, [#"If-Match: "x""#])
      #expect(stale.problem == ProblemSummary("precondition-failed") && stale.json["current"]?["email"] == .null)
      let first = try await ada.put("/v1/me/credentials", Self.credentials, [Self.key, "If-Match: \(tag)"])
      #expect(first.status == 200)
      let replay = try await ada.put("/v1/me/credentials", Self.credentials, [Self.key, "If-Match: \(tag)"])
      #expect(replay.status == 200 && replay.body == first.body && replay.field("Idempotency-Replayed") == "true")
    }
  }

  @Test("An anonymous sign-up with an idempotency key makes one user, and only its key reads the token again")
  func idempotency() async throws {
    try await ServerFixture.run { users in
      let body = #"{"anonymous":true}"#
      let first = try await users.post("/v1/users", body, [Self.key])
      let again = try await users.post("/v1/users", body, [Self.key])
      #expect(first.status == 201 && again.body == first.body && again.field("Idempotency-Replayed") == "true")
      #expect(try await users.count("users") == 1)
      let other = try await users.post("/v1/users", #"{"anonymous":true,"device":"x"}"#, [Self.key])
      #expect(other.problem == ProblemSummary("validation-failed"))
      let guessable = try await users.post("/v1/users", body, ["Idempotency-Key: 1"])
      #expect(guessable.problem == ProblemSummary("invalid-parameter"))
      try await users.restart()
      let restarted = try await users.post("/v1/users", body, [Self.key])
      #expect(restarted.body == first.body)
    }
  }

  @Test("An anonymous user is erased without a password, and other users are not")
  func erasure() async throws {
    try await ServerFixture.run { users in
      for body in [nil, "{}", #"{"password":"anything"}"#] {
        let ada = try await signUp(users)
        try await ada.addFavorites("a")
        #expect(try await ada.ask("DELETE", "/v1/me", body).status == 204)
        #expect(try await ada.get("/v1/me").status == 401)
      }
      #expect(try await users.count("users") == 0)
      let eve = try await users.signUp("eve")
      for body in [nil, "{}"] {
        #expect(
          try await eve.ask("DELETE", "/v1/me", body).problem == ProblemSummary("validation-failed", "/password")
        )
      }
    }
  }

  @Test("An anonymous user has no password to change, and cannot sign up while registration is closed")
  func refusals() async throws {
    try await ServerFixture.run { users in
      let ada = try await signUp(users)
      let change = try await ada.put("/v1/me/password", #"{"current":"a","new":"correct horse"}"#)
      #expect(change.problem == ProblemSummary("conflict"))
      #expect(change.json["detail"]?.stringValue?.contains("PUT /v1/me/credentials") == true)
      let mixed = try await users.post("/v1/users", #"{"anonymous":true,"email":"a@example.com"}"#)
      #expect(mixed.problem == ProblemSummary("validation-failed", "/email"))
      let wrong = try await users.post("/v1/users", #"{"anonymous":1}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/anonymous", "/email", "/password"))
      let named = #"{"anonymous":false,"email":"a@example.com","password":"correct horse"}"#
      #expect(try await users.post("/v1/users", named).status == 201)
      try await users.restart { $0.accounts.registration = .closed }
      #expect(try await users.post("/v1/users", #"{"anonymous":true}"#).problem == ProblemSummary("forbidden"))
      let upgraded = #"{"email":"ada@example.com","password":"correct horse"}"#
      #expect(try await ada.put("/v1/me/credentials", upgraded).status == 200)
    }
  }

  @Test("Administrators see anonymous users without an address, and find the others by theirs")
  func administration() async throws {
    try await ServerFixture.run({ $0.administratorToken = "admin" }) { users in
      let ada = try await signUp(users)
      _ = try await users.signUp("eve")
      let all = try await users.ask("GET", "/v1/admin/users", token: "admin").json["items"]?.arrayValue ?? []
      #expect(all.map { $0["email"] } == [.null, "eve@example.com"])
      #expect(all.map { $0["anonymous"] } == [true, nil])
      let found = try await users.ask("GET", "/v1/admin/users?prefix=e", token: "admin").json["items"]?.arrayValue
      #expect(found?.count == 1)
      let path = "/v1/admin/users/\(ada.user)"
      #expect(try await users.ask("GET", "\(path)/favorites", token: "admin").status == 200)
      let body = Array(#"{"email":"ada@example.com","password":"correct horse"}"#.utf8)
      #expect(try await users.ask("PATCH", path, body: body, token: "admin").status == 200)
      #expect(try await users.logIn().user == ada.user)
    }
  }
}
