import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("If-Match with a cursor of the user's state", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct UnchangedSinceTests {
  /// Writes of each kind of resource, and a write to a resource beside it.
  private static let resources: [(path: String, body: String, beside: String)] = [
    ("/v1/favorites/a", #"{"title":"%"}"#, "/v1/favorites/b"),
    ("/v1/defaults/standard/k", #""%""#, "/v1/defaults/standard/l"),
  ]

  private static func body(_ template: String, _ number: Int) -> String {
    template.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(number)")
  }

  @Test("A write succeeds if its resource has not changed since the cursor, whatever else has changed")
  func unchanged() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (path, body, beside) in Self.resources {
        _ = try await ada.put(path, Self.body(body, 1))
        let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
        _ = try await ada.put(beside, Self.body(body, 2))
        _ = try await ada.patch("/v1/profile", #"{"position":"Pilot"}"#)
        #expect(try await ada.put(path, Self.body(body, 3), [#"If-Match: "\#(cursor)""#]).status == 200, "\(path)")
        let stale = try await ada.put(path, Self.body(body, 4), [#"If-Match: "\#(cursor)""#])
        #expect(stale.status == 412, "\(path)")
        let present = try await ada.get(path)
        #expect(stale.json["current"] == present.json && stale.tag == present.tag, "\(path)")
      }
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      try await ada.addFavorites("z")
      for (path, body) in [("/v1/profile", #"{"position":"Poet"}"#), ("/v1/defaults/standard", #"{"m":1}"#)] {
        #expect(try await ada.patch(path, body, [#"If-Match: "\#(cursor)""#]).status == 200, "\(path)")
        #expect(try await ada.patch(path, body, [#"If-Match: "\#(cursor)""#]).status == 412, "\(path)")
      }
    }
  }

  @Test("An element's own position counts as a change, and a shift of its index does not")
  func positions() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let condition = [#"If-Match: "\#(cursor)""#]
      _ = try await ada.put("/v1/favorites/c/position", #"{"index":0}"#)
      #expect(try await ada.put("/v1/favorites/a", #"{"title":"A"}"#, condition).status == 200)
      #expect(try await ada.put("/v1/favorites/c", #"{"title":"C"}"#, condition).status == 412)
    }
  }

  @Test("A resource that was absent then and is absent now has not changed", arguments: [0, 200])
  func absent(writes: Int) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (path, body, beside) in Self.resources {
        let before = try #require(try await ada.get("/v1/changes?since=now").cursor)
        _ = try await ada.put(path, Self.body(body, 1))
        let between = try #require(try await ada.get("/v1/changes?since=now").cursor)
        _ = try await ada.delete(path)
        for number in 0..<writes { _ = try await ada.put(beside, Self.body(body, number)) }
        let gone = try await ada.put(path, Self.body(body, 2), [#"If-Match: "\#(between)""#])
        #expect(gone.status == 412 && gone.json["current"] == .null, "\(path)")
        #expect(try await ada.delete(path, [#"If-Match: "\#(before)""#]).status == 404, "\(path)")
        #expect(try await ada.put(path, Self.body(body, 3), [#"If-Match: "\#(before)""#]).status == 201, "\(path)")
        #expect(try await ada.put(path, Self.body(body, 4), [#"If-Match: "\#(before)""#]).status == 412, "\(path)")
        _ = try await ada.delete(path)
      }
    }
  }

  @Test("A registered default that shows through counts", .withoutDeclaredMap)
  func registered() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }) { users in
      let ada = try await users.signUp()
      try await users.register("standard", #"{"theme":1}"#)
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let condition = [#"If-Match: "\#(cursor)""#]
      try await users.register("standard", #"{"theme":1,"other":2}"#)
      #expect(try await ada.patch("/v1/defaults/standard", #"{"a":1}"#, condition).status == 412)
      try await users.register("standard", #"{"theme":2,"other":2}"#)
      #expect(try await ada.put("/v1/defaults/standard/theme", "3", condition).status == 412)
      #expect(try await ada.put("/v1/defaults/standard/unset", "3", condition).status == 201)
    }
  }

  @Test("A cursor of another store or of the future does not hold")
  func foreign() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let bob = try await users.signUp("bob")
      try await ada.addFavorites("a")
      try await bob.addFavorites("a")
      let mine = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let parts = mine.split(separator: ".")
      let other = try #require(try await bob.get("/v1/changes?since=now").cursor)
      let era = parts[1].split(separator: "-")[1]
      let future = "\(parts[0]).99-\(era).0"
      for cursor in ["00000000.1.0", other, future, "\(parts[0]).1.0", "nonsense"] {
        #expect(try await ada.put("/v1/favorites/a", "{}", [#"If-Match: "\#(cursor)""#]).status == 412, "\(cursor)")
      }
      #expect(try await ada.put("/v1/favorites/a", "{}", [#"If-Match: "x", "\#(mine)""#]).status == 200)
    }
  }

  // MARK: Actions

  private static func action(_ module: String, _ type: String, _ payload: String, _ cursor: String) -> String {
    #"{"module":"\#(SwappedWords.module(module))","type":"\#(type)","payload":\#(payload),"ifMatch":"\#(cursor)"}"#
  }

  @Test("Each action is judged against the state before the batch, and the first failed one is named")
  func actions() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let actions = [
        Self.action("favorites", "update", #"{"id":"a","title":"1"}"#, cursor),
        Self.action("favorites", "update", #"{"id":"a","title":"2"}"#, cursor),
        Self.action("defaults", "set", #"{"key":"k","value":1}"#, cursor),
        Self.action("profile", "save", #"{"position":"Pilot"}"#, cursor),
        Self.action("favorites", "add", #"{"id":"new"}"#, cursor),
      ]
      #expect(try await ada.post("/v1/actions", ActionsRouteTests.batch(actions)).status == 200)
      for (index, action) in actions.enumerated() {
        let free = ActionsRouteTests.action("favorites", "toggle", #"{"id":"free"}"#)
        let refused = try await ada.post("/v1/actions", ActionsRouteTests.batch([free, action]))
        #expect(refused.status == 412 && refused.json["failed"] == 1, "\(index)")
      }
      #expect(try await ada.favoriteIDs() == ["a", "b", "new"])
      let stale = try await ada.post("/v1/actions", ActionsRouteTests.batch([actions[0]]))
      #expect(stale.json["current"] == (try await ada.get("/v1/favorites/a").json))
      #expect(stale.json["cursor"]?.stringValue == (try await ada.get("/v1/favorites/a").tag))
      let clear = Self.action("favorites", "clear", "{}", cursor)
      let list = try await ada.post("/v1/actions", ActionsRouteTests.batch([clear]))
      #expect(list.status == 412 && list.json["current"]?["count"] == 3)
    }
  }

  @Test("A repeated 412 with a long body is rebuilt for the action that failed")
  func repeated() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let long = String(repeating: "x", count: 20_000)
      _ = try await ada.put("/v1/defaults/standard/long", "\"\(long)\"")
      let batch = ActionsRouteTests.batch([
        Self.action("favorites", "update", #"{"id":"a","title":"1"}"#, cursor),
        Self.action("defaults", "set", #"{"key":"long","value":1}"#, cursor),
      ])
      let first = try await ada.post("/v1/actions", batch, ["Idempotency-Key: k"])
      try await ada.addFavorites("b")
      let again = try await ada.post("/v1/actions", batch, ["Idempotency-Key: k"])
      #expect(first.status == 412 && first.json["failed"] == 1)
      #expect(again.body == first.body && again.field("Idempotency-Replayed") == "true")
    }
  }

  @Test("An ifMatch that is not a cursor is a fault of the body")
  func malformed() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for tag in [#""""#, "1", "null", #""a b""#, #""\"x\"""#] {
        let action = #"{"module":"favorites","type":"add","payload":{"id":"a"},"ifMatch":\#(tag)}"#
        let refused = try await ada.post("/v1/actions", ActionsRouteTests.batch([action]))
        #expect(refused.problem == ProblemSummary("validation-failed", "/actions/0/ifMatch"), "\(tag)")
      }
    }
  }

  // MARK: Dry runs

  @Test("A dry run shows the mutations and changes nothing")
  func dryRun() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let before = try await ada.get("/v1/changes?since=now")
      let batch = ActionsRouteTests.batch([
        ActionsRouteTests.action("favorites", "toggle", #"{"id":"a"}"#),
        ActionsRouteTests.action("defaults", "increment", #"{"key":"n","by":2}"#),
      ])
      for _ in 1...2 {
        let preview = try await ada.post("/v1/actions?dryRun=true", batch, ["Idempotency-Key: k"])
        #expect(preview.status == 200 && preview.field("Idempotency-Replayed") == nil)
        #expect(preview.cursor == before.cursor && preview.field("Revision") == "1")
        let kinds = preview.json["results"]?.arrayValue?.map { $0["mutations"]?.arrayValue?.first?["type"] }
        #expect(kinds == ["removed", "set"])
      }
      #expect(try await ada.favoriteIDs() == ["a"])
      #expect(try await users.rows("SELECT count(*) FROM idempotency_keys WHERE key = 'k'") == [["0"]])
      let wrong = ActionsRouteTests.batch([ActionsRouteTests.action("favorites", "remove", #"{"id":"none"}"#)])
      let refused = try await ada.post("/v1/actions?dryRun=true", wrong)
      #expect(refused.problem?.slug == "not-found" && refused.json["failed"] == 0)
      #expect(try await ada.post("/v1/actions?dryRun=false", batch).status == 200)
      #expect(try await ada.favoriteIDs() == [])
      for value in ["", "1", "yes", "TRUE"] {
        let odd = try await ada.post("/v1/actions?dryRun=\(value)", batch)
        #expect(odd.problem == ProblemSummary("invalid-parameter"), "\(value)")
      }
    }
  }
}
