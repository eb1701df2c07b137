import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Repeated writes to states", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct IdempotencyTests {
  static let key = ["Idempotency-Key: 0192e4a0-1"]

  static func isSame(_ again: RawResponse, as first: RawResponse) -> Bool {
    again.status == first.status && again.body == first.body && again.tag == first.tag && again.cursor == first.cursor
      && first.field("Idempotency-Replayed") == nil && again.field("Idempotency-Replayed") == "true"
  }

  @Test("A repeated write is applied once and gets the first response, also after a restart")
  func replay() async throws {
    let writes: [(method: String, path: String, body: String?)] = [
      ("PUT", "/v1/favorites/b", #"{"title":"B"}"#), ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#),
      ("PUT", "/v1/favorites/a/position", #"{"index":1}"#), ("DELETE", "/v1/favorites/a", nil),
      ("PUT", "/v1/defaults/standard/k", "1"), ("PATCH", "/v1/defaults/standard", #"{"l":2}"#),
      ("DELETE", "/v1/defaults/standard/k", nil), ("PATCH", "/v1/profile", #"{"position":"P"}"#),
      (
        "POST", "/v1/actions",
        ActionsRouteTests.batch([ActionsRouteTests.action("favorites", "toggle", #"{"id":"t"}"#)])
      ),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      for (index, (method, path, body)) in writes.enumerated() {
        let key = ["Idempotency-Key: key \(index)"]
        let first = try await ada.ask(method, path, body, key)
        #expect((200..<300).contains(first.status), "\(path) \(first.text)")
        // Another write happens in between.
        _ = try await ada.put("/v1/defaults/other/n", "\(index)")
        #expect(Self.isSame(try await ada.ask(method, path, body, key), as: first), "\(method) \(path)")
        try await users.restart()
        #expect(Self.isSame(try await ada.ask(method, path, body, key), as: first), "\(method) \(path)")
      }
      #expect(try await ada.favoriteIDs() == ["b", "t"])
    }
  }

  @Test("The same body with another content type is another request, if the types mean different things")
  func types() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/k", #"{"a":1}"#)
      let body = #"{"k":{"b":2}}"#
      let merge = ["Content-Type: application/merge-patch+json"] + Self.key
      let first = try await ada.patch("/v1/defaults/standard", body, merge)
      #expect(first.json["values"]?["k"] == ["a": 1, "b": 2])
      for fields in [[], ["Content-Type: application/json"]] {
        let other = try await ada.patch("/v1/defaults/standard", body, fields + Self.key)
        #expect(other.problem == ProblemSummary("validation-failed"), "\(fields)")
      }
      let spelled = ["Content-Type: Application/Merge-Patch+JSON; charset=utf-8"] + Self.key
      #expect(Self.isSame(try await ada.patch("/v1/defaults/standard", body, spelled), as: first))
      // If a route treats all JSON types alike, the content type does not matter.
      let key = ["Idempotency-Key: other"]
      let put = try await ada.put("/v1/defaults/standard/l", "1", key)
      let again = try await ada.put(
        "/v1/defaults/standard/l",
        "1",
        key + ["Content-Type: application/merge-patch+json"]
      )
      #expect(Self.isSame(again, as: put))
    }
  }

  @Test("A refusal is stored too, and does not depend on the state of a later time")
  func refusals() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let cases: [(method: String, path: String, body: String?, fields: [String], status: Int)] = [
        ("DELETE", "/v1/favorites/a", nil, [], 404), ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#, [], 404),
        ("PUT", "/v1/favorites/a", "{}", [#"If-Match: "x""#], 412),
        ("PATCH", "/v1/favorites/a", #"{"nothing":1}"#, [], 404),
      ]
      for (index, (method, path, body, fields, status)) in cases.enumerated() {
        let fields = fields + ["Idempotency-Key: \(index)"]
        let first = try await ada.ask(method, path, body, fields)
        #expect(first.status == status)
        try await ada.addFavorites("a")
        let again = try await ada.ask(method, path, body, fields)
        #expect(Self.isSame(again, as: first), "\(method) \(path)")
        #expect(try await ada.favoriteIDs() == ["a"])
        _ = try await ada.delete("/v1/favorites/a")
      }
    }
  }

  @Test("If a transaction is refused, only the refusal is stored")
  func refusedBatch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let batch = ActionsRouteTests.batch([
        ActionsRouteTests.action("favorites", "add", #"{"id":"a"}"#),
        ActionsRouteTests.action("favorites", "remove", #"{"id":"absent"}"#),
      ])
      let first = try await ada.post("/v1/actions", batch, Self.key)
      #expect(first.status == 404)
      #expect(Self.isSame(try await ada.post("/v1/actions", batch, Self.key), as: first))
      for table in ["favorites", "journal"] { #expect(try await users.count(table) == 0, "\(table)") }
      try await users.restart()
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
    }
  }

  /// Requests whose responses contain a large suite, and the statuses of these responses.
  private static let long: [(path: String, body: String, fields: [String], status: Int)] =
    (0..<20).map { ("/v1/defaults/standard", #"{"n":\#($0)}"#, [], 200) }
    + (20..<23).map { ("/v1/defaults/standard", #"{"n":\#($0)}"#, [#"If-Match: "x""#], 412) }

  @Test("Long responses are not stored, and are rebuilt without a difference, also after a restart")
  func longResponses() async throws {
    try await ServerFixture.run {
      $0.administratorToken = "secret"
    } _: { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/long", "\"" + String(repeating: "x", count: 200_000) + "\"")
      var responses: [RawResponse] = []
      for (index, (path, body, fields, status)) in Self.long.enumerated() {
        responses.append(try await ada.patch(path, body, fields + ["Idempotency-Key: \(index)"]))
        #expect(responses[index].status == status)
        #expect(responses[index].body.count > 200_000)
      }
      let value = #""\#(String(repeating: "y", count: 20_000))""#
      let put = try await ada.put("/v1/defaults/standard/other", value, Self.key)
      #expect(try await users.rows("SELECT coalesce(sum(length(body)), 0) FROM idempotency_keys") == [["0"]])
      // The registered defaults change too.
      let registered = Array(#"{"n":0,"registered":true}"#.utf8)
      let path = "/v1/admin/registered/standard"
      _ = try await users.ask("PATCH", path, ["Authorization: Bearer secret"], body: registered)
      for _ in 1...2 {
        for (index, (path, body, fields, _)) in Self.long.enumerated() {
          let again = try await ada.patch(path, body, fields + ["Idempotency-Key: \(index)"])
          #expect(Self.isSame(again, as: responses[index]), "\(index)")
        }
        #expect(Self.isSame(try await ada.put("/v1/defaults/standard/other", value, Self.key), as: put))
        try await users.restart()
      }
      #expect(try await ada.get("/v1/defaults/standard/n").text.hasSuffix("19"))
    }
  }

  @Test(
    "If a response is neither stored nor in the history, a repeated request gets 409, and the write is not applied again"
  )
  func goneResponse() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/long", "\"" + String(repeating: "x", count: 20_000) + "\"")
      let first = try await ada.patch("/v1/defaults/standard", #"{"n":1}"#, Self.key)
      _ = try await ada.put("/v1/defaults/standard/n", "2")
      _ = try await ada.put("/v1/defaults/standard/m", "2")
      try await users.deleteJournal(upTo: 3)
      let again = try await ada.patch("/v1/defaults/standard", #"{"n":1}"#, Self.key)
      #expect(again.status == 409)
      #expect(again.problem == ProblemSummary("conflict"))
      #expect(again.cursor == first.cursor)
      #expect(try await ada.get("/v1/defaults/standard/n").body == Array("2".utf8))
    }
  }

  @Test(
    "The long response to several actions is rebuilt from the journal without a difference, as long as the journal has it"
  )
  func longResults() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      // Some actions change nothing, so their results are empty lists.
      let actions = (0..<12).map { number in
        let long = String(repeating: "x", count: 2_000)
        return number % 3 == 1
          ? ActionsRouteTests.action("favorites", "clear", "{}")
          : ActionsRouteTests.action("defaults", "set", #"{"key":"\#(number)","value":"\#(long)"}"#)
      }
      let first = try await ada.post("/v1/actions", ActionsRouteTests.batch(actions), Self.key)
      #expect(first.status == 200 && first.body.count > 16 * 1024)
      #expect(try await users.rows("SELECT body IS NULL FROM idempotency_keys") == [["1"]])
      _ = try await ada.put("/v1/defaults/standard/0", "1")
      try await users.restart()
      let again = try await ada.post("/v1/actions", ActionsRouteTests.batch(actions), Self.key)
      #expect(Self.isSame(again, as: first))
      #expect(try await ada.get("/v1/defaults/standard/0").text == "1")
      try await users.deleteJournal(upTo: 1)
      let gone = try await ada.post("/v1/actions", ActionsRouteTests.batch(actions), Self.key)
      #expect(gone.problem == ProblemSummary("conflict"))
      #expect(gone.cursor == first.cursor)
    }
  }

  @Test("Only short bodies, and those that cannot be rebuilt, are stored, and each write gets its first response again")
  func storedBodies() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let long = #""\#(String(repeating: "x", count: 300))""#
      // The journal has another write at the revision of the batch that changes nothing.
      _ = try await ada.put("/v1/defaults/standard/first", long)
      let clears = Array(repeating: ActionsRouteTests.action("favorites", "clear", "{}"), count: 20)
      let adding = ActionsRouteTests.action("favorites", "add", #"{"id":"b","data":\#(long)}"#)
      let writes: [(method: String, path: String, body: String, fields: [String], status: Int, isStored: Bool)] = [
        ("POST", "/v1/actions", ActionsRouteTests.batch(clears), [], 200, true),
        ("PUT", "/v1/favorites/a", "{}", [#"If-Match: "x""#], 412, true),
        ("PUT", "/v1/favorites/a", #"{"data":\#(long)}"#, [], 201, false),
        ("PUT", "/v1/favorites/a", #"{"data":\#(long)}"#, [], 200, false),
        ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#, [], 200, false),
        ("PUT", "/v1/favorites/a", "{}", [#"If-Match: "x""#], 412, true),
        ("POST", "/v1/actions", ActionsRouteTests.batch([adding]), [], 200, false),
        ("POST", "/v1/actions", ActionsRouteTests.batch([adding]), [#"If-Match: "x""#], 412, true),
        ("PUT", "/v1/defaults/standard/k", long, [], 201, false),
        ("PATCH", "/v1/defaults/standard", #"{"l":\#(long)}"#, [], 200, false),
        ("PUT", "/v1/defaults/standard/m", "1", [], 201, true),
      ]
      var responses: [RawResponse] = []
      for (number, write) in writes.enumerated() {
        let fields = write.fields + ["Idempotency-Key: \(10 + number)"]
        let response = try await ada.ask(write.method, write.path, write.body, fields)
        #expect(response.status == write.status, "\(number)")
        responses.append(response)
      }
      #expect(
        try await users.rows("SELECT body IS NOT NULL FROM idempotency_keys ORDER BY key")
          == writes.map { [$0.isStored ? "1" : "0"] }
      )
      for _ in 1...2 {
        _ = try await ada.put("/v1/favorites/a", #"{"title":"later"}"#)
        for (number, write) in writes.enumerated() {
          let fields = write.fields + ["Idempotency-Key: \(10 + number)"]
          let again = try await ada.ask(write.method, write.path, write.body, fields)
          #expect(Self.isSame(again, as: responses[number]), "\(number)")
        }
        try await users.restart()
      }
      #expect(try await ada.get("/v1/favorites/a").json["title"] == "later")
    }
  }

  @Test("Long responses take no place among the records, and no write is applied again")
  func limitOfBodies() async throws {
    try await ServerFixture.run {
      $0.history.keyBytes = 262_144
      $0.administratorToken = "secret"
    } _: { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/long", "\"" + String(repeating: "x", count: 10_000) + "\"")
      var responses: [RawResponse] = []
      for number in 0..<40 {
        let key = ["Idempotency-Key: \(number)"]
        // Every fourth write changes nothing, and its response is as long.
        let body = #"{"n":\#(number % 4 == 3 ? number - 1 : number)}"#
        responses.append(try await ada.patch("/v1/defaults/standard", body, key))
        #expect(responses[number].status == 200 && responses[number].body.count > 10_000)
      }
      await users.maintenanceIsIdle()
      #expect(try await Self.bytes(of: users) <= 20_000)
      #expect(try await users.count("idempotency_keys") == 40)
      for number in 0..<40 {
        let body = #"{"n":\#(number % 4 == 3 ? number - 1 : number)}"#
        let again = try await ada.patch("/v1/defaults/standard", body, ["Idempotency-Key: \(number)"])
        #expect(Self.isSame(again, as: responses[number]), "\(number)")
      }
      let administrator = ["Authorization: Bearer secret"]
      let listed = try await users.ask("GET", "/v1/admin/users", administrator).json["items"]?[0]?["keyBytes"]
      let bytes = try await Self.bytes(of: users)
      // Each record counts as 128 bytes more than its key and its response.
      #expect(listed?.int64Value == Int64(bytes) + 40 * 128)
    }
  }

  @Test("Above the limit for a user, the oldest keys are forgotten, and those of other users stay")
  func limitOfRecords() async throws {
    try await ServerFixture.run {
      $0.history.keyBytes = 65_536
    } _: { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      let other = try await bob.put("/v1/favorites/b", "{}", Self.key)
      let padding = String(repeating: "k", count: 200)
      var responses: [RawResponse] = []
      for number in 0..<300 {
        responses.append(
          try await ada.put(
            "/v1/favorites/a",
            #"{"title":"\#(number)"}"#,
            ["Idempotency-Key: \(padding)\(1_000 + number)"]
          )
        )
      }
      await users.maintenanceIsIdle()
      #expect(try await Self.bytes(of: users) <= 65_536 * 9 / 8 + 1_000)
      let kept = try await users.count("idempotency_keys")
      #expect((80..<200).contains(kept))
      for number in 300 - (kept - 1)..<300 {
        let key = ["Idempotency-Key: \(padding)\(1_000 + number)"]
        let again = try await ada.put("/v1/favorites/a", #"{"title":"\#(number)"}"#, key)
        #expect(Self.isSame(again, as: responses[number]), "\(number)")
      }
      #expect(Self.isSame(try await bob.put("/v1/favorites/b", "{}", Self.key), as: other))
    }
  }

  /// The bytes that the records of all users have in the store, without what the store adds.
  private static func bytes(of users: ServerFixture) async throws -> Int {
    let sum = try await users.rows(
      "SELECT coalesce(sum(length(key) + length(fields) + coalesce(length(body), 0)), 0) FROM idempotency_keys"
    )
    return sum.first?.first.flatMap { Int($0) } ?? -1
  }

  @Test("Another request with the same key is refused, and the first response stays")
  func reused() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let first = try await ada.put("/v1/favorites/a", #"{"title":"A"}"#, Self.key)
      for (method, path, body) in [
        ("PUT", "/v1/favorites/a", #"{"title":"B"}"#), ("PUT", "/v1/favorites/b", #"{"title":"A"}"#),
        ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#),
      ] {
        let response = try await ada.ask(method, path, body, Self.key)
        #expect(response.status == 422, "\(method) \(path)")
        #expect(response.problem == ProblemSummary("validation-failed"))
      }
      #expect(Self.isSame(try await ada.put("/v1/favorites/a", #"{"title":"A"}"#, Self.key), as: first))
      #expect(try await ada.favoriteIDs() == ["a"])
    }
  }

  @Test("A request that could not be read does not use its key")
  func unread() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/favorites/a", "{", Self.key).problem == ProblemSummary("malformed-json"))
      #expect(try await ada.put("/v1/favorites/a", #"{"title":7}"#, Self.key).status == 422)
      #expect(try await ada.put("/v1/favorites/a", "{}", Self.key).status == 201)
    }
  }

  @Test("A key is valid for 24 hours")
  func lifetime() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let first = try await ada.put("/v1/favorites/a", "{}", Self.key)
      users.time.advance(by: 86_399)
      #expect(Self.isSame(try await ada.put("/v1/favorites/a", "{}", Self.key), as: first))
      users.time.advance(by: 1)
      let later = try await ada.put("/v1/favorites/a", #"{"title":"new"}"#, Self.key)
      #expect(later.status == 200)
      #expect(later.field("Idempotency-Replayed") == nil)
    }
  }

  @Test("A user's devices share keys, and users do not")
  func users() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      let first = try await ada.put("/v1/favorites/a", "{}", Self.key)
      let other = try await bob.put("/v1/favorites/b", #"{"title":"B"}"#, Self.key)
      #expect(other.status == 201)
      #expect(other.field("Idempotency-Replayed") == nil)
      let tablet = try await users.logIn("ada")
      #expect(Self.isSame(try await tablet.put("/v1/favorites/a", "{}", Self.key), as: first))
    }
  }

  @Test("A key has 1 to 256 bytes")
  func keys() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for key in ["", String(repeating: "k", count: 257)] {
        let response = try await ada.put("/v1/favorites/a", "{}", ["Idempotency-Key: \(key)"])
        #expect(response.problem == ProblemSummary("invalid-parameter"))
      }
      let longest = "Idempotency-Key: " + String(repeating: "k", count: 256)
      let first = try await ada.put("/v1/favorites/a", "{}", [longest])
      #expect(Self.isSame(try await ada.put("/v1/favorites/a", "{}", [longest]), as: first))
    }
  }
}
