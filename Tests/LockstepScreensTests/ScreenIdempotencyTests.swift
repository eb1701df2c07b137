import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("A write to a screen with an idempotency key is applied once", .timeLimit(.minutes(10)))
struct ScreenIdempotencyTests {
  private static let key = ["Idempotency-Key: k"]
  private static let owner = ScreenIdempotency.Owner.screen("s")

  private static func key(_ text: String, _ body: String = "") -> IdempotencyKey {
    IdempotencyKey(text, method: "POST", target: "/", body: Array(body.utf8))
  }

  private static func response(_ bytes: Int = 1) -> StoredResponse {
    StoredResponse(status: 200, fields: [], body: [UInt8](repeating: 0, count: bytes))
  }

  @Test(
    "Opening with the same key returns the same screen; another body is refused, and another session has its own keys"
  )
  func opening() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let body = #"{"arguments":{"photoId":"a"}}"#
      let first = try await phone.post("/v1/reactors/photoDetail", body, Self.key)
      let again = try await phone.post("/v1/reactors/photoDetail", body, Self.key)
      #expect(first.status == 201)
      #expect(first.field("Idempotency-Replayed") == nil)
      #expect(again.status == 201)
      #expect(again.body == first.body)
      #expect(again.tag == first.tag)
      #expect(again.field("Location") == first.field("Location"))
      #expect(again.field("Idempotency-Replayed") == "true")
      let other = try await phone.post("/v1/reactors/photoDetail", #"{"arguments":{"photoId":"b"}}"#, Self.key)
      #expect(other.problem == ProblemSummary("validation-failed"))
      let theirs = try await tablet.post("/v1/reactors/photoDetail", body, Self.key)
      #expect(theirs.json["id"] != first.json["id"])
      #expect(OpenedScreen.count(of: users) == 2)
    }
  }

  @Test("An anonymous client cannot get the screen of another one by using the same key")
  func anonymous() async throws {
    try await ServerFixture.run { users in
      let first = try await users.post("/v1/reactors/login", "", Self.key)
      let second = try await users.post("/v1/reactors/login", "", Self.key)
      #expect(first.json["id"] != second.json["id"])
      #expect(second.field("Idempotency-Replayed") == nil)
    }
  }

  @Test(
    "An invalid key is refused, also without a login",
    arguments: ["", String(repeating: "k", count: 257)]
  )
  func unfitKey(key: String) async throws {
    try await ServerFixture.run { users in
      let response = try await users.post("/v1/reactors/login", "", ["Idempotency-Key: \(key)"])
      #expect(response.problem == ProblemSummary("invalid-parameter"))
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("Actions are applied once, and repeated requests get the first response, also if it was a refusal")
  func acting() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("workingHistory")
      func type(_ text: String, _ fields: [String] = []) async throws -> RawResponse {
        try await screen.act(#"{"type":"setPosition","payload":{"value":"\#(text)"}}"#, fields)
      }
      let first = try await type("Chief", Self.key)
      _ = try await type("Captain")
      let again = try await type("Chief", Self.key)
      #expect(again.body == first.body)
      #expect(again.field("Idempotency-Replayed") == "true")
      #expect(try await screen.state()["position"] == "Captain")
      #expect(try await type("Cook", Self.key).problem == ProblemSummary("validation-failed"))

      let save = #"{"type":"save"}"#
      let refused = try await screen.act(save, ["Idempotency-Key: save"])
      #expect(refused.problem == ProblemSummary("conflict"))
      _ = try await screen.act(#"{"type":"setCompanyName","payload":{"value":"Aurora"}}"#)
      let still = try await screen.act(save, ["Idempotency-Key: save"])
      #expect(still.body == refused.body)
      #expect(still.field("Idempotency-Replayed") == "true")
      #expect(try await screen.act(save, ["Idempotency-Key: other"]).status == 200)
    }
  }

  @Test("Each anonymous screen has its own keys")
  func actingOnNobodys() async throws {
    try await ServerFixture.run { users in
      let (one, two) = (
        try await users.open("/v1/reactors/login", token: nil), try await users.open("/v1/reactors/login", token: nil)
      )
      let action = #"{"type":"setUsername","payload":{"value":"ada@example.com"}}"#
      for screen in [one, two] {
        let first = try await screen.act(action, Self.key)
        #expect(first.field("Idempotency-Replayed") == nil)
        #expect(try await screen.act(action, Self.key).field("Idempotency-Replayed") == "true")
      }
    }
  }

  @Test("A repeated request to close gets the first response; without that key, the screen is not found")
  func closing() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      for screen in [try await phone.open("favoritesTop"), try await users.open("/v1/reactors/login", token: nil)] {
        let key = ["Idempotency-Key: \(screen.href)"]
        let first = try await screen.ask("DELETE", screen.href, nil, key)
        #expect(first.status == 204)
        let again = try await screen.ask("DELETE", screen.href, nil, key)
        #expect(again.status == 204)
        #expect(again.field("Idempotency-Replayed") == "true")
        #expect(try await screen.ask("DELETE", screen.href).status == 404)
        #expect(try await screen.ask("DELETE", screen.href, nil, ["Idempotency-Key: new"]).status == 404)
      }
    }
  }

  @Test("Requests to missing screens store no keys")
  func madeUp() async throws {
    try await ServerFixture.run { users in
      for name in 0..<3 {
        let response = try await users.ask("DELETE", "/v1/reactors/login/\(name)", Self.key)
        #expect(response.status == 404)
      }
      #expect(users.running.withLock { $0?.components.screens.responses.ownerCount } == 0)
    }
  }

  @Test("While a request runs, its key is in use; if the request could not be carried out, it may be sent again")
  func atWork() throws {
    let responses = ScreenIdempotency()
    #expect(try responses.take(Self.key("a"), of: Self.owner, at: 0) == nil)
    #expect(throws: IdempotencyKeyInUseError.self) { try responses.take(Self.key("a"), of: Self.owner, at: 0) }
    responses.settle(Self.key("a"), of: Self.owner, nil)
    #expect(try responses.take(Self.key("a"), of: Self.owner, at: 0) == nil)
    responses.settle(Self.key("a"), of: Self.owner, Self.response())
    #expect(try responses.take(Self.key("a"), of: Self.owner, at: 0) == Self.response())
    #expect(throws: IdempotencyKeyReusedError.self) { try responses.take(Self.key("a", "b"), of: Self.owner, at: 0) }
  }

  @Test("The oldest responses are evicted by number and by bytes, and the last one always stays")
  func bounds() throws {
    let responses = ScreenIdempotency()
    func keep(_ name: String, _ bytes: Int) throws {
      _ = try responses.take(Self.key(name), of: Self.owner, at: 0)
      responses.settle(Self.key(name), of: Self.owner, Self.response(bytes))
    }
    func isKept(_ name: String) throws -> Bool {
      let isKept = try responses.take(Self.key(name), of: Self.owner, at: 0) != nil
      if !isKept { responses.settle(Self.key(name), of: Self.owner, nil) }
      return isKept
    }
    for number in 0...ScreenIdempotency.maximumKeys { try keep("\(number)", 1) }
    #expect(try !isKept("0"))
    #expect(try isKept("1"))
    try keep("long", ScreenIdempotency.maximumBytes)
    #expect(try !isKept("\(ScreenIdempotency.maximumKeys)"))
    #expect(try isKept("long"))
    try keep("short", 1)
    #expect(try !isKept("long"))
    #expect(try isKept("short"))
  }

  @Test("The responses of all owners together have a limit, and the oldest are evicted")
  func boundInAll() throws {
    let responses = ScreenIdempotency(bound: 20_000)
    for number in 0..<5_000 {
      let owner = ScreenIdempotency.Owner.screen("\(number)".exact)
      #expect(try responses.take(Self.key("k"), of: owner, at: 0) == nil)
      responses.settle(Self.key("k"), of: owner, Self.response(1_000))
      #expect(responses.bytes <= 20_000)
    }
    #expect(responses.ownerCount == 13)
    #expect(try responses.take(Self.key("k"), of: .screen("4999"), at: 0) != nil)
    #expect(try responses.take(Self.key("k"), of: .screen("4980"), at: 0) == nil)
  }

  @Test("Closing an anonymous screen removes its responses, except the one to the closing")
  func closed() async throws {
    try await ServerFixture.run { users in
      let screen = try await users.open("/v1/reactors/login", token: nil)
      let text = String(repeating: "x", count: 4_000)
      for key in 0..<5 {
        let action = #"{"type":"setUsername","payload":{"value":"\#(text)"}}"#
        #expect(try await screen.act(action, ["Idempotency-Key: \(key)"]).status == 200)
      }
      let responses = try #require(users.running.withLock { $0?.components.screens.responses })
      #expect(responses.bytes > 20_000)
      for _ in 0..<2 { #expect(try await screen.ask("DELETE", screen.href, nil, Self.key).status == 204) }
      #expect(responses.bytes < 2_000)
      #expect(responses.ownerCount == 1)
    }
  }

  @Test("Owners without recent requests are removed, unless one of their requests is running")
  func forgetting() throws {
    let responses = ScreenIdempotency()
    for (name, time) in [("old", Int64(1)), ("new", 3), ("busy", 1)] {
      let owner = ScreenIdempotency.Owner.screen(name.exact)
      #expect(try responses.take(Self.key("a"), of: owner, at: time) == nil)
      if name != "busy" { responses.settle(Self.key("a"), of: owner, Self.response()) }
    }
    responses.forget(before: 2)
    #expect(responses.ownerCount == 2)
    #expect(try responses.take(Self.key("a"), of: .screen("new"), at: 3) == Self.response())
    #expect(throws: IdempotencyKeyInUseError.self) { try responses.take(Self.key("a"), of: .screen("busy"), at: 3) }
  }
}
