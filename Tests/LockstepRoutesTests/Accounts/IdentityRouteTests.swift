import LockstepHTTP
import LockstepIdentity
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepTime

/// An issuer that publishes its keys on loopback, and a server that accepts its tokens.
private struct IdentityFixture: Sendable {
  let users: ServerFixture
  let issuer: FakeIssuer
  /// The keys that the issuer publishes now; nil while it is down.
  let published: LockedState<JSON?>
  let fetches: LockedState<Int>

  static func run(
    _ change: @escaping (inout Configuration) -> Void = { _ in },
    isDown: Bool = false,
    publishing keys: JSON = FakeIssuer().keySet,
    _ body: (IdentityFixture) async throws -> Void
  ) async throws {
    let (published, fetches) = (LockedState<JSON?>(isDown ? nil : keys), LockedState(0))
    try await LoopbackServer.run { request in
      fetches.withLock { $0 += 1 }
      guard let keys = published.withLock({ $0 }) else { throw Problem(.overloaded) }
      let host = request.head[.host] ?? ""
      let issuer = FakeIssuer(url: "http://\(host)")
      return .json(request.head.path == "/keys" ? keys : issuer.discovery)
    } _: { port in
      let issuer = FakeIssuer(url: "http://127.0.0.1:\(port)")
      let trusted = try TrustedIssuer(parsing: issuer.option)
      try await ServerFixture.run { configuration in
        configuration.trustedIssuers = [trusted]
        change(&configuration)
      } _: { users in
        try await body(
          IdentityFixture(users: users, issuer: issuer, published: published, fetches: fetches)
        )
      }
    }
  }

  func token(
    for subject: String = "ada",
    claims: [String: JSON?] = [:],
    header: [String: JSON?] = [:],
    key: TestKey? = nil
  ) -> String {
    issuer.token(for: subject, now: users.time.serverTime.now(), claims: claims, header: header, key: key)
  }

  func get(_ target: String, _ token: String, _ fields: [String] = []) async throws -> RawResponse {
    try await users.ask("GET", target, fields, token: token)
  }

  func put(_ target: String, _ body: String, _ token: String) async throws -> RawResponse {
    try await users.ask("PUT", target, body: Array(body.utf8), token: token)
  }

  func exchange(_ token: String, _ fields: [String] = []) async throws -> RawResponse {
    try await users.post("/v1/sessions", #"{"idToken":"\#(token)","device":"phone"}"#, fields)
  }
}

@Suite("Tokens of other issuers over HTTP", .timeLimit(.minutes(10)))
struct IdentityRouteTests {
  @Test("The first request with a token makes the user, and later tokens of the subject are of the same user")
  func firstRequest() async throws {
    try await IdentityFixture.run { identity in
      let first = identity.token()
      let me = try await identity.get("/v1/me", first)
      #expect(me.status == 200 && me.json["email"] == .null && me.json["anonymous"] == nil)
      #expect(try await identity.put("/v1/favorites/a", "{}", first).status == 201)
      identity.users.time.advance(by: 600)
      for key in [TestKey.ec, .ed25519, .rsa] {
        let other = identity.token(key: key)
        #expect(try await identity.get("/v1/me", other).json["id"] == me.json["id"])
        #expect(try await identity.get("/v1/favorites", other).json["count"] == 1)
      }
      let bob = identity.token(for: "bob")
      #expect(try await identity.get("/v1/me", bob).json["id"] != me.json["id"])
      #expect(try await identity.get("/v1/favorites", bob).json["count"] == 0)
      #expect(try await identity.users.count("users") == 2)
    }
  }

  @Test("Many requests at once with the first tokens of a subject make one user and one session")
  func concurrentFirstRequests() async throws {
    try await IdentityFixture.run { identity in
      let tokens = (0..<4).map { identity.token(claims: ["jti": .string("\($0)")]) }
      let ids = try await withThrowingTaskGroup(of: String?.self) { group in
        for index in 0..<16 {
          group.addTask { try await identity.get("/v1/me", tokens[index % 4]).json["id"]?.stringValue }
        }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(ids.count == 1 && ids.first != .some(nil))
      #expect(try await identity.users.count("sessions") == 1)
      #expect(identity.fetches.withLock { $0 } == 2)
    }
  }

  @Test(
    "Subjects that Unicode considers equal are different users, also in tokens with the same times",
    arguments: [("jos\u{E9}", "jose\u{301}"), ("Kim", "\u{212A}im")]
  )
  func equivalentSubjects(first: String, other: String) async throws {
    try await IdentityFixture.run { identity in
      let (victim, attacker) = (identity.token(for: first), identity.token(for: other))
      #expect(try await identity.put("/v1/favorites/a", "{}", victim).status == 201)
      let me = try await identity.get("/v1/me", victim).json
      for _ in 0..<2 {
        let own = try await identity.get("/v1/me", attacker)
        #expect(own.status == 200 && own.json["id"] != me["id"])
        #expect(try await identity.get("/v1/favorites", attacker).json["count"] == 0)
      }
      #expect(try await identity.get("/v1/me", victim).json == me)
      #expect(try await identity.users.count("users") == 2)
      #expect(try await identity.users.count("sessions") == 2)
    }
  }

  @Test("A key of a chip with the weakness ROCA verifies nothing, and the log names it")
  func weakKey() async throws {
    // The server fetches the keys when it starts, and not again while its clock stands still.
    try await IdentityFixture.run(publishing: FakeIssuer(keys: [.roca, .ec]).keySet) { identity in
      let good = try await identity.get("/v1/me", identity.token(key: .ec))
      let weak = try await identity.get("/v1/me", identity.token(key: .roca))
      #expect(good.status == 200 && weak.status == 401)
      // Another request may use the keys before they are reported.
      await eventually { identity.users.log.lines.contains { $0.contains("ROCA") && $0.contains("roca-1") } }
    }
  }

  @Test("The status and the metrics say how many keys an issuer has, and why they cannot be fetched")
  func status() async throws {
    try await IdentityFixture.run({ $0.administratorToken = ServerFixture.administrator }, isDown: true) { identity in
      let (users, administrator) = (identity.users, ServerFixture.administrator)
      func issuer() async throws -> JSON? {
        try await users.ask("GET", "/v1/admin/status", token: administrator).json["issuers"]?[0]
      }
      #expect(try await identity.get("/v1/me", identity.token()).status == 503)
      let down = try #require(try await issuer())
      #expect(down["issuer"]?.stringValue == identity.issuer.url && down["keys"] == 0 && down["fetchedAt"] == nil)
      #expect((down["failures"]?.intValue ?? 0) > 0 && down["failure"]?.stringValue?.isEmpty == false)
      #expect(
        try await users.ask("GET", "/metrics").text.contains(
          "lockstep_issuer_keys{issuer=\"\(identity.issuer.url)\"} 0\n"
        )
      )
      identity.published.withLock { $0 = identity.issuer.keySet }
      users.time.advance(by: 11)
      #expect(try await identity.get("/v1/me", identity.token()).status == 200)
      let up = try #require(try await issuer())
      #expect((up["keys"]?.intValue ?? 0) > 0 && up["failure"] == nil && up["fetchedAt"] != nil)
      let metrics = try await users.ask("GET", "/metrics").text
      #expect(metrics.contains("lockstep_issuer_last_fetch_timestamp_seconds{issuer="))
    }
  }

  @Test("A request without its token is refused, and so is a token that is not valid")
  func refusals() async throws {
    try await IdentityFixture.run { identity in
      let good = identity.token()
      let parts = good.split(separator: ".")
      let cases: [(String, String)] = [
        ("expired", identity.token(claims: ["exp": .integer(784_111_700)])),
        ("another audience", identity.token(claims: ["aud": "other"])),
        ("another issuer", identity.token(claims: ["iss": "https://other.example"])),
        ("no subject", identity.token(claims: ["sub": .some(nil)])),
        ("another key", identity.token(key: TestKey.otherRSA.named("rsa-1"))),
        ("an unknown key", identity.token(key: TestKey.otherRSA)),
        ("no signature", "\(parts[0]).\(parts[1])."),
        ("a changed signature", String(good.dropLast(8)) + "AAAAAAAA"),
        ("two parts", "\(parts[0]).\(parts[1])"),
        ("alg none", identity.token(header: ["alg": "none"])),
        ("alg HS256", identity.token(header: ["alg": "HS256"])),
        ("crit", identity.token(header: ["crit": ["exp"]])),
        ("too long", identity.token(claims: ["name": .string(String(repeating: "n", count: 8192))])),
      ]
      for (name, token) in cases {
        let response = try await identity.get("/v1/favorites", token)
        #expect(response.problem == ProblemSummary("unauthorized"), "\(name)")
        #expect(response.field("WWW-Authenticate")?.hasPrefix("Bearer") == true, "\(name)")
        #expect(try await identity.exchange(token).problem == ProblemSummary("unauthorized"), "\(name)")
      }
      #expect(try await identity.users.count("users") == 0)
      #expect(try await identity.get("/v1/favorites", good).status == 200)
    }
  }

  @Test("A token ends when it expires, also for a repeated request on the same connection")
  func expiry() async throws {
    try await IdentityFixture.run { identity in
      let token = identity.token()
      let client = try identity.users.connect()
      defer { client.close() }
      let request = StubbedServer.request("GET", "/v1/favorites", ["Authorization: Bearer \(token)"])
      for (seconds, status) in [(0.0, 200), (0, 200), (3600, 200), (59, 200), (0, 200), (1, 401), (0, 401)] {
        identity.users.time.advance(by: seconds)
        try await client.send(request)
        #expect(try await client.response().status == status, "\(seconds)")
      }
    }
  }

  @Test("An event stream ends when its token expires")
  func streams() async throws {
    try await IdentityFixture.run { identity in
      let client = try identity.users.connect()
      defer { client.close() }
      let fields = ["Authorization: Bearer \(identity.token())", "Accept: text/event-stream"]
      try await client.send(StubbedServer.request("GET", "/v1/changes", fields))
      await eventually { identity.users.running.withLock { $0?.services.users.states.waiters.metrics.waiting } == 1 }
      identity.users.time.advance(by: 3661)
      identity.users.running.withLock { $0 }?.lookAtClock()
      #expect(try await client.response().status == 200)
    }
  }

  @Test("A token can be exchanged for a session, whose token goes on after it")
  func exchange() async throws {
    try await IdentityFixture.run { identity in
      let token = identity.token()
      let me = try await identity.get("/v1/me", token).json["id"]
      let key = ["Idempotency-Key: 7"]
      let response = try await identity.exchange(token, key)
      #expect(response.status == 201 && response.json["user"]?["id"] == me)
      #expect(response.json["session"]?["device"] == "phone")
      let replay = try await identity.exchange(token, key)
      #expect(replay.body == response.body && replay.field("Idempotency-Replayed") == "true")
      let device = try Device(response, identity.users)
      identity.users.time.advance(by: 7200)
      #expect(try await identity.get("/v1/me", token).status == 401)
      #expect(try await device.get("/v1/me").json["id"] == me)
      let sessions = try await device.get("/v1/sessions").json["items"]?.arrayValue ?? []
      #expect(sessions.map { $0["device"] } == [.null, "phone"])
    }
  }

  @Test("When its session is ended, tokens that were issued before are refused, and later ones are not")
  func logout() async throws {
    try await IdentityFixture.run { identity in
      let token = identity.token()
      let other = identity.token(claims: ["jti": "2"])
      let me = try await identity.get("/v1/me", token).json["id"]
      #expect(try await identity.get("/v1/me", other).json["id"] == me)
      #expect(try await identity.get("/v1/sessions/current", token).json["current"] == true)
      identity.users.time.advance(by: 5)
      #expect(try await identity.users.ask("DELETE", "/v1/sessions/current", token: token).status == 204)
      for old in [token, other, identity.token(claims: ["iat": .some(nil)])] {
        #expect(try await identity.get("/v1/me", old).status == 401)
        #expect(try await identity.exchange(old).status == 401)
      }
      identity.users.time.advance(by: 1)
      #expect(try await identity.get("/v1/me", identity.token()).json["id"] == me)
      #expect(try await identity.get("/v1/me", token).status == 401)
      try await identity.users.restart()
      #expect(try await identity.get("/v1/me", token).status == 401)
      #expect(try await identity.get("/v1/me", identity.token()).json["id"] == me)
    }
  }

  @Test("A token whose time of issue is ahead of the server's clock ends with its session too")
  func clockAhead() async throws {
    try await IdentityFixture.run { identity in
      let ahead = identity.token(claims: ["iat": .integer(784_111_777 + 50)])
      let later = identity.token(claims: ["iat": .integer(784_111_777 + 51)])
      #expect(try await identity.get("/v1/me", ahead).status == 200)
      #expect(try await identity.users.ask("DELETE", "/v1/sessions/current", token: ahead).status == 204)
      let refused = try await identity.get("/v1/me", ahead)
      #expect(refused.problem == ProblemSummary("unauthorized"))
      #expect(refused.json["detail"]?.stringValue?.contains("was ended") == true)
      #expect(try await identity.exchange(ahead).problem == ProblemSummary("unauthorized"))
      #expect(try await identity.get("/v1/me", later).status == 200)
    }
  }

  @Test("A disabled user's tokens are refused, and an erased user begins with an empty state")
  func disabledAndErased() async throws {
    try await IdentityFixture.run({ $0.administratorToken = "admin" }) { identity in
      let token = identity.token()
      let me = try #require(try await identity.get("/v1/me", token).json["id"]?.stringValue)
      let path = "/v1/admin/users/\(me)"
      let item = try await identity.users.ask("GET", path, token: "admin").json
      #expect(item["identity"] == ["issuer": .string(identity.issuer.url), "subject": "ada"])
      func patch(_ body: String) async throws {
        #expect(try await identity.users.ask("PATCH", path, body: Array(body.utf8), token: "admin").status == 200)
      }
      try await patch(#"{"disabled":true}"#)
      #expect(try await identity.get("/v1/me", token).problem == ProblemSummary("unauthorized"))
      identity.users.time.advance(by: 1)
      #expect(try await identity.get("/v1/me", identity.token()).problem == ProblemSummary("unauthorized"))
      #expect(try await identity.exchange(identity.token()).problem == ProblemSummary("forbidden"))
      try await patch(#"{"disabled":false}"#)
      #expect(try await identity.get("/v1/me", identity.token()).json["id"]?.stringValue == me)
      #expect(try await identity.put("/v1/favorites/a", "{}", identity.token()).status == 201)
      #expect(try await identity.users.ask("DELETE", "/v1/me", token: identity.token()).status == 204)
      let again = try await identity.get("/v1/me", identity.token())
      #expect(again.status == 200 && again.json["id"]?.stringValue != me)
      #expect(try await identity.get("/v1/favorites", identity.token()).json["count"] == 0)
    }
  }

  @Test("An identity turns an anonymous user into a full one, unless it has an account already")
  func credentials() async throws {
    try await IdentityFixture.run { identity in
      let anonymous = try Device(
        try await identity.users.post("/v1/users", #"{"anonymous":true}"#),
        identity.users
      )
      try await anonymous.addFavorites("a")
      let wrong = try await anonymous.put("/v1/me/credentials", #"{"idToken":"eyJ.e30.e30"}"#)
      #expect(wrong.problem == ProblemSummary("forbidden"))
      let body = #"{"idToken":"\#(identity.token())"}"#
      let upgraded = try await anonymous.put("/v1/me/credentials", body)
      #expect(upgraded.status == 200 && upgraded.json["anonymous"] == nil)
      #expect(try await anonymous.put("/v1/me/credentials", body).problem == ProblemSummary("conflict"))
      #expect(try await identity.get("/v1/favorites", identity.token()).json["count"] == 1)
      #expect(try await anonymous.favoriteIDs() == ["a"])
      let other = try Device(
        try await identity.users.post("/v1/users", #"{"anonymous":true}"#),
        identity.users
      )
      #expect(try await other.put("/v1/me/credentials", body).problem == ProblemSummary("conflict"))
      #expect(try await other.get("/v1/me").json["anonymous"] == true)
      let export = try await anonymous.get("/v1/me/export").json["user"]
      #expect(export?["identity"]?["subject"] == "ada")
    }
  }

  @Test("With closed registration, only the users of an issuer that exist already may go on")
  func closedRegistration() async throws {
    try await IdentityFixture.run { identity in
      #expect(try await identity.get("/v1/me", identity.token()).status == 200)
      try await identity.users.restart { $0.accounts.registration = .closed }
      #expect(try await identity.get("/v1/me", identity.token()).status == 200)
      let bob = identity.token(for: "bob")
      #expect(try await identity.get("/v1/me", bob).problem == ProblemSummary("unauthorized"))
      #expect(try await identity.exchange(bob).problem == ProblemSummary("forbidden"))
      #expect(try await identity.users.count("users") == 1)
    }
  }

  @Test("While an issuer was never reached, its tokens get 503, and those of sessions are valid")
  func unreachable() async throws {
    try await IdentityFixture.run(isDown: true) { identity in
      let ada = try await identity.users.signUp()
      let response = try await identity.get("/v1/me", identity.token())
      #expect(response.problem == ProblemSummary("overloaded"))
      #expect(response.field("Retry-After").flatMap { Int($0) }.map { (1...60).contains($0) } == true)
      #expect(try await ada.get("/v1/me").status == 200)
      identity.published.withLock { $0 = identity.issuer.keySet }
      identity.users.time.advance(by: 60)
      #expect(try await identity.get("/v1/me", identity.token()).status == 200)
    }
  }

  @Test("A user's token of another issuer is refused by the administration, and is not counted as a guess")
  func administration() async throws {
    try await IdentityFixture.run({ $0.administratorToken = "admin" }) { identity in
      let token = identity.token()
      for _ in 0..<30 {
        let response = try await identity.users.ask("GET", "/v1/admin/users", token: token)
        #expect(response.problem == ProblemSummary("forbidden"))
      }
      #expect(try await identity.users.count("users") == 0)
      let guess = identity.token(key: TestKey.otherRSA.named("rsa-1"))
      #expect(
        try await identity.users.ask("GET", "/v1/admin/users", token: guess).problem == ProblemSummary("unauthorized")
      )
    }
  }

  @Test("Without an issuer, a token is refused like any unknown one, and cannot be exchanged")
  func withoutIssuer() async throws {
    try await ServerFixture.run { users in
      let token = FakeIssuer().token(now: users.time.serverTime.now())
      #expect(try await users.ask("GET", "/v1/me", token: token).problem == ProblemSummary("unauthorized"))
      let exchange = try await users.post("/v1/sessions", #"{"idToken":"\#(token)"}"#)
      #expect(exchange.problem == ProblemSummary("unauthorized"))
      #expect(exchange.json["detail"]?.stringValue?.contains("--identity") == true)
    }
  }

  @Test("A repeated write with an idempotency key is made once, also with a refreshed token")
  func idempotency() async throws {
    try await IdentityFixture.run { identity in
      let key = ["Idempotency-Key: w1"]
      func add(_ token: String) async throws -> RawResponse {
        try await identity.users.ask("PUT", "/v1/favorites/a", key, body: Array("{}".utf8), token: token)
      }
      let first = try await add(identity.token())
      identity.users.time.advance(by: 1800)
      let replay = try await add(identity.token())
      #expect(first.status == 201 && replay.body == first.body && replay.field("Idempotency-Replayed") == "true")
    }
  }
}
