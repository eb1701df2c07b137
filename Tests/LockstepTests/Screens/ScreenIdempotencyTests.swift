import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import Lockstep
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepStore
@testable import LockstepSync

@Suite("A write on a screen that is sent again with its key is done once", .timeLimit(.minutes(10)))
struct ScreenAnswersTests {
  private static let key = ["Idempotency-Key: k"]
  private static let owner = ScreenIdempotency.Owner.screen("s")

  private static func key(_ text: String, _ body: String = "") -> IdempotencyKey {
    IdempotencyKey(text, method: "POST", target: "/", body: Array(body.utf8))
  }

  private static func answer(_ bytes: Int = 1) -> StoredResponse {
    StoredResponse(status: 200, fields: [], body: [UInt8](repeating: 0, count: bytes))
  }

  @Test("Opening gives the same screen again; another body is another request, another session another owner")
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
      #expect(other.problem == Told("validation-failed"))
      let theirs = try await tablet.post("/v1/reactors/photoDetail", body, Self.key)
      #expect(theirs.json["id"] != first.json["id"])
      #expect(OpenedScreen.count(of: users) == 2)
    }
  }

  @Test("Nobody is given the way into a screen that somebody else has opened with the same key")
  func anonymous() async throws {
    try await ServerFixture.run { users in
      let first = try await users.post("/v1/reactors/login", "", Self.key)
      let second = try await users.post("/v1/reactors/login", "", Self.key)
      #expect(first.json["id"] != second.json["id"])
      #expect(second.field("Idempotency-Replayed") == nil)
    }
  }

  @Test(
    "A key that can't be one is told, also to who isn't logged in",
    arguments: ["", String(repeating: "k", count: 257)]
  )
  func unfitKey(key: String) async throws {
    try await ServerFixture.run { users in
      let answer = try await users.post("/v1/reactors/login", "", ["Idempotency-Key: \(key)"])
      #expect(answer.problem == Told("invalid-parameter"))
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("Actions are done once, and told as they were told first; what refused them stays too")
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
      #expect(try await type("Cook", Self.key).problem == Told("validation-failed"))

      let save = #"{"type":"save"}"#
      let refused = try await screen.act(save, ["Idempotency-Key: save"])
      #expect(refused.problem == Told("conflict"))
      _ = try await screen.act(#"{"type":"setCompanyName","payload":{"value":"Aurora"}}"#)
      let still = try await screen.act(save, ["Idempotency-Key: save"])
      #expect(still.body == refused.body)
      #expect(still.field("Idempotency-Replayed") == "true")
      #expect(try await screen.act(save, ["Idempotency-Key: other"]).status == 200)
    }
  }

  @Test("What belongs to nobody has its own keys, for who knows it")
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

  @Test("Closing is told again as done; without the key, or with another, there is no such screen")
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

  @Test("What isn't there leaves nothing behind")
  func madeUp() async throws {
    try await ServerFixture.run { users in
      for name in 0..<3 {
        let answer = try await users.ask("DELETE", "/v1/reactors/login/\(name)", Self.key)
        #expect(answer.status == 404)
      }
      #expect(users.running.withLock { $0?.components.screens?.responses.ownerCount } == 0)
    }
  }

  @Test("While a request is at work the same one is told so; one that couldn't be done may be tried again")
  func atWork() throws {
    let answers = ScreenIdempotency()
    #expect(try answers.take(Self.key("a"), of: Self.owner, at: 0) == nil)
    #expect(throws: IdempotencyKeyInUseError.self) { try answers.take(Self.key("a"), of: Self.owner, at: 0) }
    answers.settle(Self.key("a"), of: Self.owner, nil)
    #expect(try answers.take(Self.key("a"), of: Self.owner, at: 0) == nil)
    answers.settle(Self.key("a"), of: Self.owner, Self.answer())
    #expect(try answers.take(Self.key("a"), of: Self.owner, at: 0) == Self.answer())
    #expect(throws: IdempotencyKeyReusedError.self) { try answers.take(Self.key("a", "b"), of: Self.owner, at: 0) }
  }

  @Test("The oldest answers make room: there are so many, and so long ones, and always the last")
  func bounds() throws {
    let answers = ScreenIdempotency()
    func keep(_ name: String, _ bytes: Int) throws {
      _ = try answers.take(Self.key(name), of: Self.owner, at: 0)
      answers.settle(Self.key(name), of: Self.owner, Self.answer(bytes))
    }
    func isKept(_ name: String) throws -> Bool {
      let isKept = try answers.take(Self.key(name), of: Self.owner, at: 0) != nil
      if !isKept { answers.settle(Self.key(name), of: Self.owner, nil) }
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

  @Test("However many owners there are, all answers together have a bound, and the oldest make room")
  func boundInAll() throws {
    let answers = ScreenIdempotency(bound: 20_000)
    for number in 0..<5_000 {
      let owner = ScreenIdempotency.Owner.screen("\(number)")
      #expect(try answers.take(Self.key("k"), of: owner, at: 0) == nil)
      answers.settle(Self.key("k"), of: owner, Self.answer(1_000))
      #expect(answers.bytes <= 20_000)
    }
    #expect(answers.ownerCount == 13)
    #expect(try answers.take(Self.key("k"), of: .screen("4999"), at: 0) != nil)
    #expect(try answers.take(Self.key("k"), of: .screen("4980"), at: 0) == nil)
  }

  @Test("With a screen of nobody's go its answers, but for that to closing it")
  func closed() async throws {
    try await ServerFixture.run { users in
      let screen = try await users.open("/v1/reactors/login", token: nil)
      let text = String(repeating: "x", count: 4_000)
      for key in 0..<5 {
        let action = #"{"type":"setUsername","payload":{"value":"\#(text)"}}"#
        #expect(try await screen.act(action, ["Idempotency-Key: \(key)"]).status == 200)
      }
      let answers = try #require(users.running.withLock { $0?.components.screens?.responses })
      #expect(answers.bytes > 20_000)
      for _ in 0..<2 { #expect(try await screen.ask("DELETE", screen.href, nil, Self.key).status == 204) }
      #expect(answers.bytes < 2_000)
      #expect(answers.ownerCount == 1)
    }
  }

  @Test("Whoever wasn't heard of is forgotten, unless something is at work")
  func forgetting() throws {
    let answers = ScreenIdempotency()
    for (name, time) in [("old", Int64(1)), ("new", 3), ("busy", 1)] {
      let owner = ScreenIdempotency.Owner.screen(name)
      #expect(try answers.take(Self.key("a"), of: owner, at: time) == nil)
      if name != "busy" { answers.settle(Self.key("a"), of: owner, Self.answer()) }
    }
    answers.forget(before: 2)
    #expect(answers.ownerCount == 2)
    #expect(try answers.take(Self.key("a"), of: .screen("new"), at: 3) == Self.answer())
    #expect(throws: IdempotencyKeyInUseError.self) { try answers.take(Self.key("a"), of: .screen("busy"), at: 3) }
  }
}
