import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Accounts over HTTP", .timeLimit(.minutes(10)))
struct AccountsRouteTests {
  @Test("Signing up returns the user, a token and the session of the device")
  func signUp() async throws {
    try await ServerFixture.run { users in
      let response = try await users.post(
        "/v1/users",
        #"{"email":"Ada@Example.com","password":"correct horse","device":"Ada's phone"}"#
      )
      #expect(response.status == 201)
      #expect(response.field("Cache-Control") == "no-store")
      let document = response.json
      #expect(document.objectValue?.names == ["user", "token", "expiresAt", "session"])
      #expect(document["user"]?["email"] == "Ada@Example.com")
      #expect(document["user"]?["createdAt"] == "1994-11-06T08:49:37.000Z")
      // 90 days later.
      #expect(document["expiresAt"] == "1995-02-04T08:49:37.000Z")
      #expect(document["session"]?["device"] == "Ada's phone")
      #expect(document["session"]?["createdAt"] == "1994-11-06T08:49:37.000Z")
      let id = try #require(document["user"]?["id"]?.stringValue)
      #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
      #expect(try #require(document["token"]?.stringValue).utf8.count >= 43)
    }
  }

  @Test("Every invalid field of a sign-up is named in one response")
  func badSignUps() async throws {
    let long = String(repeating: "p", count: 257)
    let cases: [(body: String, pointers: [String])] = [
      (#"{"email":"ada","password":"short"}"#, ["/email", "/password"]),
      (#"{"email":"ada@example.com","password":"short"}"#, ["/password"]),
      (#"{"email":"ada@example.com","password":"ADA@example.com"}"#, ["/password"]),
      (#"{"email":"ada@example.com","password":"\#(long)"}"#, ["/password"]),
      (#"{"email":"ada@localhost","password":"correct horse"}"#, ["/email"]),
      (#"{"email":"ada@example.com","password":"correct horse","device":7}"#, ["/device"]),
      (#"{"email":"ada@example.com","password":"correct horse","device":"\u0000"}"#, ["/device"]),
      (#"{"password":"short"}"#, ["/email", "/password"]),
      (#"{"email":"ada","device":[]}"#, ["/password", "/device", "/email"]),
      (#"{"email":1,"password":2,"device":3}"#, ["/email", "/password", "/device"]),
      ("{}", ["/email", "/password"]),
      ("[]", [""]),
      ("7", [""]),
    ]
    try await ServerFixture.run { users in
      for (body, pointers) in cases {
        let response = try await users.post("/v1/users", body)
        #expect(response.status == 422, "\(body)")
        #expect(response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers), "\(body)")
      }
      #expect(try await users.count("users") == 0)
    }
  }

  @Test("An address belongs to one user, in any case")
  func takenAddress() async throws {
    try await ServerFixture.run { users in
      _ = try await users.signUp("ada")
      let response = try await users.post("/v1/users", #"{"email":"ADA@EXAMPLE.COM","password":"another one"}"#)
      #expect(response.status == 409)
      #expect(response.problem == ProblemSummary("conflict"))
      let login = try await users.post("/v1/sessions", #"{"email":"aDa@example.COM","password":"correct horse"}"#)
      #expect(login.status == 201)
    }
  }

  @Test("A server with closed registration refuses sign-ups and accepts logins")
  func closedRegistration() async throws {
    try await ServerFixture.run { users in
      _ = try await users.signUp("ada")
      try await users.restart { $0.accounts.registration = .closed }
      let response = try await users.post("/v1/users", #"{"email":"bob@example.com","password":"correct horse"}"#)
      #expect(response.status == 403)
      #expect(response.problem == ProblemSummary("forbidden"))
      #expect(try await users.logIn("ada").get("/v1/me").status == 200)
    }
  }

  @Test("A wrong address and a wrong password get the same response")
  func wrongCredentials() async throws {
    try await ServerFixture.run { users in
      _ = try await users.signUp("ada")
      let address = try await users.post("/v1/sessions", #"{"email":"eve@example.com","password":"correct horse"}"#)
      let password = try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"wrong horse"}"#)
      for response in [address, password] {
        #expect(response.status == 401)
        #expect(response.problem == ProblemSummary("unauthorized"))
        #expect(response.field("WWW-Authenticate") == "Bearer")
      }
      #expect(address.body == password.body)
      #expect(password.json["title"] == "The e-mail address or the password is wrong")
    }
  }

  @Test("Every missing or invalid field of a login is named")
  func badLogins() async throws {
    try await ServerFixture.run { users in
      for (body, pointers) in [
        ("{}", ["/email", "/password"]), (#"{"email":1}"#, ["/email", "/password"]),
        (#"{"email":"ada@example.com","password":"x","device":{}}"#, ["/device"]),
      ] {
        let response = try await users.post("/v1/sessions", body)
        #expect(response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers), "\(body)")
      }
    }
  }

  @Test("A client that guesses passwords learns how long to wait")
  func tooManyAttempts() async throws {
    try await ServerFixture.run { users in
      _ = try await users.signUp("ada")
      let wrong = #"{"email":"ada@example.com","password":"wrong horse"}"#
      for _ in 0..<10 { #expect(try await users.post("/v1/sessions", wrong).status == 401) }
      let response = try await users.post("/v1/sessions", wrong)
      #expect(response.status == 429)
      #expect(response.problem == ProblemSummary("too-many-requests"))
      let wait = try #require(response.field("Retry-After").flatMap { Int($0) })
      try users.passAttempts(seconds: wait)
      #expect(try await users.logIn("ada").get("/v1/me").status == 200)
    }
  }

  @Test("The list of sessions has every device, and marks the one that sent the request")
  func sessions() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp("ada", device: "phone")
      users.time.advance(by: 120)
      let tablet = try await users.logIn("ada", device: "tablet")
      let response = try await tablet.get("/v1/sessions")
      #expect(response.status == 200)
      let items = try #require(response.json["items"]?.arrayValue)
      #expect(items.map { $0["id"] } == [.string(phone.session), .string(tablet.session)])
      #expect(items.map { $0["device"] } == ["phone", "tablet"])
      #expect(items.map { $0["current"] } == [false, true])
      #expect(items.map { $0["createdAt"] } == ["1994-11-06T08:49:37.000Z", "1994-11-06T08:51:37.000Z"])
      #expect(items.map { $0["lastSeenAt"] } == ["1994-11-06T08:49:37.000Z", "1994-11-06T08:51:37.000Z"])
    }
  }

  @Test("The token of an ended session is invalid at once, and stays invalid after a restart")
  func revoke() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp("ada")
      let tablet = try await users.logIn("ada")
      let response = try await tablet.delete("/v1/sessions/\(phone.session)")
      #expect(response.status == 204)
      #expect(response.body.isEmpty)
      let refused = try await phone.get("/v1/favorites")
      #expect(refused.status == 401)
      #expect(refused.problem == ProblemSummary("unauthorized"))
      #expect(refused.field("WWW-Authenticate")?.hasPrefix("Bearer") == true)
      #expect(try await phone.put("/v1/favorites/a", "{}").status == 401)
      #expect(try await tablet.delete("/v1/sessions/\(phone.session)").problem == ProblemSummary("not-found"))
      try await users.restart()
      #expect(try await phone.get("/v1/me").status == 401)
      #expect(try await tablet.delete("/v1/sessions/current").status == 204)
      #expect(try await tablet.get("/v1/me").status == 401)
    }
  }

  @Test("Only the user's own sessions can be ended")
  func revokeOthers() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      for id in [bob.session, "nonsense", "0192e4a0-0000-7000-8000-000000000000", "%27%20OR%201=1"] {
        #expect(try await ada.delete("/v1/sessions/\(id)").problem == ProblemSummary("not-found"), "\(id)")
      }
      #expect(try await bob.get("/v1/me").status == 200)
    }
  }

  @Test("A user can read their own account")
  func me() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      let response = try await ada.get("/v1/me")
      #expect(response.status == 200)
      #expect(
        response.json == [
          "id": .string(ada.user), "email": "ada@example.com", "emailVerified": false,
          "createdAt": "1994-11-06T08:49:37.000Z",
        ]
      )
    }
  }

  @Test("A new password ends every other session, and the old password is refused")
  func changePassword() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp("ada")
      let tablet = try await users.logIn("ada")
      let response = try await tablet.put("/v1/me/password", #"{"current":"correct horse","new":"battery staple"}"#)
      #expect(response.status == 204)
      #expect(try await phone.get("/v1/me").status == 401)
      #expect(try await tablet.get("/v1/me").status == 200)
      let old = try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"correct horse"}"#)
      #expect(old.status == 401)
      #expect(try await users.logIn("ada", password: "battery staple").get("/v1/me").status == 200)
    }
  }

  @Test("A password cannot be changed to an invalid one, or without the current one")
  func badPasswordChanges() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      let cases: [(body: String, expected: ProblemSummary)] = [
        (#"{"current":"correct horse","new":"short"}"#, ProblemSummary("validation-failed", "/new")),
        (#"{"current":"correct horse","new":"ada@example.com"}"#, ProblemSummary("validation-failed", "/new")),
        (#"{"current":"wrong horse","new":"battery staple"}"#, ProblemSummary("forbidden")),
        (#"{"new":"short"}"#, ProblemSummary("validation-failed", "/current", "/new")),
        (#"{"current":"correct horse"}"#, ProblemSummary("validation-failed", "/new")),
        ("{}", ProblemSummary("validation-failed", "/current", "/new")),
        (#"{"current":1,"new":null}"#, ProblemSummary("validation-failed", "/current", "/new")),
      ]
      for (body, expected) in cases {
        #expect(try await ada.put("/v1/me/password", body).problem == expected, "\(body)")
      }
      #expect(try await users.logIn("ada").get("/v1/me").status == 200)
    }
  }

  @Test("An account cannot be erased without its password")
  func eraseRefused() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      for (body, expected) in [
        ("{}", ProblemSummary("validation-failed", "/password")),
        (#"{"password":7}"#, ProblemSummary("validation-failed", "/password")),
        (#"{"password":"wrong horse"}"#, ProblemSummary("forbidden")),
      ] {
        #expect(try await ada.ask("DELETE", "/v1/me", body).problem == expected, "\(body)")
      }
      #expect(try await ada.delete("/v1/me").problem == ProblemSummary("validation-failed", "/password"))
      #expect(try await ada.get("/v1/me").status == 200)
    }
  }

  @Test("A token expires if it was not used for the configured time")
  func expiry() async throws {
    try await ServerFixture.run {
      $0.accounts.tokenLifetime = .seconds(86_400)
    } _: { users in
      let ada = try await users.signUp("ada")
      for _ in 0..<3 {
        users.time.advance(by: 86_399)
        #expect(try await ada.get("/v1/me").status == 200)
      }
      users.time.advance(by: 86_400)
      #expect(try await ada.get("/v1/me").status == 401)
    }
  }

  @Test("Without a valid token, every route responds with 401")
  func unauthorized() async throws {
    let routes = [
      "GET /v1/me", "GET /v1/sessions", "DELETE /v1/sessions/current", "PUT /v1/me/password", "GET /v1/me/export",
      "DELETE /v1/me", "GET /v1/favorites", "GET /v1/favorites/a", "PUT /v1/favorites/a", "PATCH /v1/favorites/a",
      "DELETE /v1/favorites/a", "PUT /v1/favorites/a/position", "GET /v1/defaults", "GET /v1/defaults/standard",
      "PATCH /v1/defaults/standard", "GET /v1/defaults/standard/a", "PUT /v1/defaults/standard/a",
      "DELETE /v1/defaults/standard/a", "GET /v1/profile", "PATCH /v1/profile", "POST /v1/actions",
    ]
    let authorizations = [
      [], ["Authorization: Bearer nonsense"], ["Authorization: Bearer ls_" + String(repeating: "A", count: 64)],
      ["Authorization: Basic YTpi"], ["Authorization: Bearer"], ["Authorization: "],
    ]
    try await ServerFixture.run { users in
      for route in routes {
        let parts = route.split(separator: " ").map(String.init)
        for fields in authorizations {
          let response = try await users.ask(parts[0], parts[1], fields, body: Array("{}".utf8))
          #expect(response.status == 401, "\(route) \(fields)")
          #expect(response.problem == ProblemSummary("unauthorized"))
          #expect(response.field("WWW-Authenticate")?.hasPrefix("Bearer") == true)
        }
      }
    }
  }
}
