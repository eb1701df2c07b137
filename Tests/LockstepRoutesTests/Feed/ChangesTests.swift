import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepClient
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite(
  "The feed returns the changes since a cursor, combined and complete",
  .timeLimit(.minutes(10)),
  .alsoWithDeclaredCollections
)
struct ChangesTests {
  @Test("Without a cursor, the response has all collections and a cursor")
  func beginning() async throws {
    // The feed of a user with both lists has both.
    if SwappedWords.current != nil { return }
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      _ = try await phone.put("/v1/defaults/standard/theme", "1")
      let all = try await phone.get("/v1/changes").json
      #expect(all["reset"]?.boolValue == true)
      #expect(all["since"]?.isNull == true)
      let changesets = all["changesets"]?.arrayValue ?? []
      #expect(changesets.compactMap { $0["collection"]?.stringValue } == ["defaults/standard", "favorites", "profile"])
      #expect(changesets[0]["values"] == ["theme": 1])
      #expect(changesets[1]["items"]?[0]?["id"]?.stringValue == "a")
      #expect(changesets[2]["values"] == [:])
      let next = try await phone.get("/v1/changes?since=\(all["cursor"]?.stringValue ?? "")").json
      #expect(next["reset"]?.boolValue == false)
      #expect(next["changesets"]?.arrayValue?.isEmpty == true)
    }
  }

  @Test("The feed leaves out what was added and removed again; other changes have the indices of a table view")
  func folded() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a", "b", "c", "d")
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      try await phone.addFavorites("e", "x")
      _ = try await phone.delete("/v1/favorites/x")
      _ = try await phone.delete("/v1/favorites/a")
      _ = try await phone.put("/v1/favorites/d/position", #"{"index":0}"#)
      _ = try await phone.put("/v1/favorites/c", #"{"title":"C"}"#)
      let changes = try await phone.get("/v1/changes?since=\(since)").json
      #expect(changes["since"]?.stringValue == since)
      let set = try #require(changes["changesets"]?[0])
      #expect(set["deletions"] == [["index": 0, "id": "a"]])
      #expect(set["moves"] == [["from": 3, "to": 0, "id": "d"]])
      #expect(set["insertions"]?.arrayValue?.count == 1)
      #expect(set["insertions"]?[0]?["index"]?.intValue == 3)
      #expect(set["insertions"]?[0]?["item"]?["id"]?.stringValue == "e")
      #expect(set["modifications"]?[0]?["index"]?.intValue == 2)
      #expect(set["modifications"]?[0]?["newIndex"]?.intValue == 2)
      #expect(set["modifications"]?[0]?["item"]?["title"]?.stringValue == "C")
    }
  }

  @Test("The Swift client's own types read the feed, and lead to the same state", arguments: [1, 2] as [UInt64])
  func clientTypes(seed: UInt64) async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      var (numbers, copy) = (SeededNumbers(seed: seed), ClientCopy())
      for round in 0..<40 {
        let (id, index) = (Int.random(in: 0..<6, using: &numbers), Int.random(in: 0..<6, using: &numbers))
        switch Int.random(in: 0..<6, using: &numbers) {
        case 0...1: _ = try await phone.put("/v1/favorites/\(id)", #"{"title":"\#(round)","index":\#(index)}"#)
        case 2: _ = try await phone.delete("/v1/favorites/\(id)")
        case 3: _ = try await phone.put("/v1/favorites/\(id)/position", #"{"index":\#(index)}"#)
        case 4: _ = try await phone.put("/v1/defaults/standard/\(id)", "\(round)")
        default: _ = try await phone.delete("/v1/defaults/standard/\(id)")
        }
        if round % 3 != 0 { continue }
        let since = copy.position.map { "?since=\($0.cursor)" } ?? ""
        let response = try await phone.get("/v1/changes" + since)
        copy.apply(try #require(ChangesDocument(response.json), "seed \(seed): \(response.text)"))
        let favorites = try await phone.get("/v1/favorites").json["items"]?.arrayValue ?? []
        #expect(
          copy.state.list(CollectionName("favorites")).items.map { .object($0.object) } == favorites,
          "seed \(seed)"
        )
        let values = try await phone.get("/v1/defaults/standard").json["values"]?.objectValue ?? [:]
        let map = copy.state.map(CollectionName("defaults", part: "standard"))
        #expect(map.count == values.count && values.allSatisfy { map[$0.name]?.json == $0.value }, "seed \(seed)")
      }
    }
  }

  @Test("A cursor that the server cannot continue from gets a reset in the same response")
  func reset() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let own = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      let digits = own.prefix { $0 != "." }
      for cursor in ["nonsense", "00000000.1.0", "\(digits).99.0", "\(digits).0.99", "a.b.c", "...", "-"] {
        let response = try await phone.get("/v1/changes?since=\(cursor)&wait=30")
        #expect(response.status == 200)
        #expect(response.json["reset"]?.boolValue == true, "\(cursor)")
        #expect(response.json["since"]?.stringValue == cursor)
        let journal = try await phone.get("/v1/journal?since=\(cursor)&wait=30")
        #expect(journal.status == 200)
        #expect(journal.json["reset"]?.boolValue == true, "\(cursor)")
      }
      for cursor in ["", "%20", "a/b", "%C3%A9", String(repeating: "a", count: 300)] {
        #expect(try await phone.get("/v1/changes?since=\(cursor)").status == 400, "\(cursor)")
        #expect(try await phone.get("/v1/journal?since=\(cursor)").status == 400, "\(cursor)")
      }
      for names in ["nothing", "favorites/x", "defaults/a%20b", "profile/"] {
        #expect(try await phone.get("/v1/changes?collections=\(names)").status == 400, "\(names)")
      }
    }
  }

  @Test("A request may name 256 collections, and no more")
  func mostCollections() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      for count in [256, 257] {
        let names = (0..<count).map { "defaults/s\($0)" }.joined(separator: ",")
        let response = try await phone.get("/v1/changes?collections=\(names)")
        #expect(response.status == (count == 256 ? 200 : 400))
        #expect(count == 256 || response.text.contains("at most 256 names"))
      }
    }
  }

  @Test("A filter with the same collections is the same filter, and finds them in constant time")
  func filters() {
    let names = (0..<256).map { CollectionName("defaults", part: "s\($0)") }
    let (few, many) = (ChangesFeed.Filter(names.prefix(1)), ChangesFeed.Filter(names.reversed() + names))
    #expect(many == ChangesFeed.Filter(names) && many.names.count == 256)
    let collections = (0..<1024).map { CollectionName("defaults", part: "s\($0)") }
    #expect(collections.filter(many.includes) == names)
    #expect(collections.allSatisfy(ChangesFeed.Filter([CollectionName("defaults")]).includes))
    func time(_ filter: ChangesFeed.Filter) -> Double {
      processorTime { _ = collections.count(where: filter.includes) }
    }
    #expect(time(many) < time(few) * 10)
  }

  @Test("A filtered wait ends only for its collections, and its cursor still advances")
  func filtered() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      let path = "/v1/changes?since=\(since)&collections=favorites,defaults/standard"
      let patient = try await phone.waiting(path + "&wait=50")
      let short = try await phone.waiting(path + "&wait=10")
      await eventually { users.waiting == 2 }
      _ = try await phone.put("/v1/defaults/other/x", "1")
      users.advance(by: 10.2)
      let nothing = try await short.response().json
      #expect(nothing["changesets"]?.arrayValue?.isEmpty == true)
      #expect(nothing["cursor"]?.stringValue != since)
      #expect(users.waiting == 1)
      _ = try await phone.put("/v1/defaults/standard/x", "2")
      let told = try await patient.response().json
      #expect(
        told["changesets"] == [["collection": "defaults/standard", "kind": "map", "set": ["x": 2], "removed": []]]
      )
    }
  }

  @Test("A client that continues from its cursor misses nothing after a restart")
  func restarted() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      for number in 0..<100 { _ = try await phone.put("/v1/defaults/standard/k\(number % 7)", "\(number)") }
      let before = try await phone.get("/v1/changes?since=\(since)").json
      try await users.restart()
      let after = try await phone.get("/v1/changes?since=\(since)").json
      #expect(before == after)
      #expect(after["reset"]?.boolValue == false)
      #expect(after["changesets"]?[0]?["set"]?.objectValue?.count == 7)
    }
  }

  @Test("The cursor of a resource can be used in the feed of its collection")
  func sharedCursor() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let cursor = try await phone.get("/v1/favorites").json["cursor"]?.stringValue ?? ""
      _ = try await phone.put("/v1/defaults/standard/x", "1")
      let path = "/v1/changes?since=\(cursor)&collections=favorites"
      #expect(try await phone.get(path).json["changesets"]?.arrayValue?.isEmpty == true)
      try await phone.addFavorites("b")
      let told = try await phone.get(path).json
      #expect(told["changesets"]?[0]?["insertions"]?[0]?["item"]?["id"]?.stringValue == "b")
    }
  }

  @Test("A transaction is one response of the feed")
  func atomic() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      let waiter = try await phone.waiting("/v1/changes?since=\(since)&wait=30")
      await eventually { users.waiting == 1 }
      let actions =
        #"{"actions":[{"module":"favorites","type":"add","payload":{"id":"a"}},"#
        + #"{"module":"defaults","type":"set","payload":{"key":"x","value":1}}]}"#
      let done = try await phone.post("/v1/actions", actions)
      let told = try await waiter.response().json
      #expect(told["changesets"]?.arrayValue?.count == 2)
      #expect(told["cursor"]?.stringValue == done.json["cursor"]?.stringValue)
    }
  }

  @Test("Registered defaults reach all users who have not set these keys", .withoutDeclaredMap)
  func registered() async throws {
    try await ServerFixture.run({ $0.administratorToken = "secret" }) { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      _ = try await bob.put("/v1/defaults/standard/theme", #""own""#)
      var waiters: [RawClient] = []
      for device in [ada, bob] {
        let since = try await device.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
        waiters.append(try await device.waiting("/v1/changes?since=\(since)&wait=30"))
      }
      await eventually { users.waiting == 2 }
      let path = "/v1/admin/registered/standard"
      let admin = ["Authorization: Bearer secret"]
      _ = try await users.ask("PATCH", path, admin, body: Array(#"{"theme":"app"}"#.utf8))
      let told = try await waiters[0].response().json
      #expect(told["changesets"]?[0]?["set"] == ["theme": "app"])
      #expect(users.waiting == 1)
      _ = try await users.ask("PATCH", path, admin, body: Array(#"{"theme":null,"size":1}"#.utf8))
      #expect(try await waiters[1].response().json["changesets"]?[0]?["set"] == ["size": 1])
      let next = try await ada.get("/v1/changes?since=\(told["cursor"]?.stringValue ?? "")").json
      #expect(next["changesets"]?[0]?["removed"] == ["theme"])
    }
  }

  @Test("An event stream has the same changes, each once, and continues after the last event")
  func events() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      let stream = ["Accept: text/event-stream"]
      let client = try users.connect()
      let fields = stream + ["Authorization: Bearer \(phone.token)", "Connection: close"]
      try await client.send(StubbedServer.request("GET", "/v1/changes?since=\(since)", fields))
      await eventually { users.waiting == 1 }
      try await phone.addFavorites("a")
      try await phone.addFavorites("b")
      _ = try await phone.delete("/v1/sessions/current")
      let text = try await client.readToEnd()
      #expect(text.contains("Content-Type: text/event-stream"))
      let documents = text.split(separator: "\n").filter { $0.hasPrefix("data: ") }
        .compactMap { try? JSON(parsing: String($0.dropFirst(6))) }
      // Each event follows the one before, however many commits it combines.
      var cursor = since
      for document in documents {
        #expect(document["since"]?.stringValue == cursor)
        cursor = document["cursor"]?.stringValue ?? ""
      }
      let inserted = documents.flatMap { $0["changesets"]?.arrayValue ?? [] }
        .flatMap { $0["insertions"]?.arrayValue ?? [] }.compactMap { $0["item"]?["id"]?.stringValue }
      #expect(inserted == Array(["a", "b"].prefix(inserted.count)))
    }
  }

  @Test(
    "A client gets an event stream if it accepts one at least as much as JSON",
    arguments: [
      ("application/json, text/event-stream;q=0", false), ("text/event-stream; q=0.0", false),
      ("text/event-stream;q=0.5, application/json", false), ("text/event-streams", false), ("*/*", false),
      ("TEXT/Event-Stream; charset=utf-8;q=0.1, */*;q=0", true), ("application/json;q=0.9, text/event-stream", true),
      ("text/event-stream, application/json", true),
    ]
  )
  func accepted(accept: String, isStream: Bool) async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let client = try await phone.waiting("/v1/changes?since=now", ["Accept: \(accept)"])
      try await client.receive(until: "Content-Type: ")
      let type = String(decoding: try await client.line(), as: UTF8.self)
      #expect(type == (isStream ? "text/event-stream" : "application/json"))
    }
  }

  @Test("A stream sends a comment every fifteen seconds")
  func heartbeat() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let client = try await phone.waiting("/v1/changes?since=now", ["Accept: text/event-stream"])
      try await client.receive(until: "data: ")
      users.advance(by: 15.2)
      try await client.receive(until: ": alive")
      users.advance(by: 15.2)
      try await client.receive(until: ": alive")
    }
  }

  @Test("Each event follows the last id, which also advances with changes of other collections")
  func filteredEvents() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let path = "/v1/changes?since=now&collections=favorites"
      let client = try await phone.waiting(path, ["Accept: text/event-stream"])
      try await client.receive(until: "id: ")
      let first = String(decoding: try await client.line().prefix { $0 != 0x0A }, as: UTF8.self)
      await eventually { users.waiting == 1 }
      _ = try await phone.put("/v1/defaults/standard/x", "1")
      // The comment comes after the change in the stream.
      users.advance(by: 15.2)
      try await client.receive(until: ": alive\nid: ")
      let second = String(decoding: try await client.line().prefix { $0 != 0x0A }, as: UTF8.self)
      #expect(second != first)
      try await phone.addFavorites("a")
      try await client.receive(until: "\ndata: ")
      let told = try JSON(parsing: String(decoding: try await client.line().prefix { $0 != 0x0A }, as: UTF8.self))
      #expect(told["since"]?.stringValue == second)
      #expect(told["changesets"]?.arrayValue?.count == 1)
    }
  }

  @Test("If the state of a waiting user was evicted, it is read again, and the stream continues")
  func evictedStream() async throws {
    try await ServerFixture.run { configuration in
      configuration.administratorToken = ServerFixture.administrator
      // Room for the two most recent states.
      configuration.cacheBytes = 0
    } _: { users in
      let phone = try await users.signUp()
      _ = try await phone.put("/v1/defaults/standard/size", "12")
      let others = [try await users.signUp("bob"), try await users.signUp("eve")]
      let client = try await phone.waiting("/v1/changes?since=now", ["Accept: text/event-stream"])
      try await client.receive(until: "data: ")
      for other in others { try await other.addFavorites("a") }
      // Without a change the stream stays open, whether the state is in memory or not.
      users.advance(by: 15.2)
      try await client.receive(until: ": alive")
      #expect(users.waiting == 1)
      for theme in ["light", "dark"] {
        try await users.register("standard", #"{"theme":"\#(theme)"}"#)
        try await client.receive(until: "\ndata: ")
        let told = try JSON(parsing: String(decoding: try await client.line().prefix { $0 != 0x0A }, as: UTF8.self))
        #expect(told["reset"] == false)
        #expect(told["changesets"]?[0]?["set"] == ["theme": .string(theme)])
        for other in others { try await other.addFavorites(theme) }
      }
      // The stream also continues with the user's own changes.
      try await phone.addFavorites("mine")
      try await client.receive(until: #""id":"mine""#)
    }
  }

  @Test("The list of sessions has the cursor that a device last used")
  func devices() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      _ = try await phone.get("/v1/changes?since=\(since)")
      #expect(try await phone.get("/v1/sessions").json["items"]?[0]?["cursor"]?.stringValue == since)
    }
  }

  @Test("The journal returns actions and mutations in pages, and can be waited on")
  func journal() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a", "b", "c")
      let first = try await phone.get("/v1/journal?limit=2").json
      #expect(first["entries"]?.arrayValue?.compactMap { $0["action"]?["payload"]?["id"]?.stringValue } == ["a", "b"])
      #expect(first["entries"]?[0]?["session"]?.stringValue == phone.session)
      #expect(first["entries"]?[0]?["module"]?.stringValue == "favorites")
      let rest = try await phone.get("/v1/journal?since=\(first["cursor"]?.stringValue ?? "")").json
      #expect(rest["entries"]?.arrayValue?.count == 1)
      let waiter = try await phone.waiting("/v1/journal?since=\(rest["cursor"]?.stringValue ?? "")&wait=30")
      await eventually { users.waiting == 1 }
      _ = try await phone.put("/v1/defaults/standard/x", "1")
      let told = try await waiter.response().json
      #expect(told["entries"]?[0]?["mutations"] == [["type": "set", "payload": ["key": "x", "value": 1]]])
    }
  }

  @Test("If the journal cannot continue from a cursor, it says so and begins at the start; from now on, it is empty")
  func journalReset() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let none = try #require(try await phone.get("/v1/favorites").cursor)
      var cursors: [String] = []
      for id in ["a", "b", "c"] {
        cursors.append(try #require(try await phone.put("/v1/favorites/\(id)", "{}").cursor))
      }
      func told(_ query: String) async throws -> (reset: Bool?, ids: [String?]) {
        let journal = try await phone.get("/v1/journal\(query)").json
        let ids = journal["entries"]?.arrayValue?.map { $0["action"]?["payload"]?["id"]?.stringValue }
        return (journal["reset"]?.boolValue, ids ?? [])
      }
      let digits = none.prefix { $0 != "." }
      let rows: [(query: String, reset: Bool, ids: [String])] = [
        ("", true, ["a", "b", "c"]), ("?since=\(none)", false, ["a", "b", "c"]),
        ("?since=\(cursors[1])", false, ["c"]), ("?since=\(cursors[2])", false, []),
        ("?since=\(digits).2.0&wait=30", true, ["a", "b", "c"]),
        ("?since=\(digits).4.0&wait=30", true, ["a", "b", "c"]),
        ("?since=other000.2.0&wait=30", true, ["a", "b", "c"]),
        ("?since=now", false, []), ("?since=now&wait=30", false, []),
      ]
      for row in rows {
        let response = try await told(row.query)
        #expect(response.reset == row.reset, "\(row.query)")
        #expect(response.ids == row.ids, "\(row.query)")
      }
      #expect(try await phone.get("/v1/journal?since=now").json["cursor"]?.stringValue == cursors[2])
      // Pruning has the same effect.
      try await users.deleteJournal(upTo: 1)
      #expect(try await told("?since=\(none)") == (true, ["b", "c"]))
      #expect(try await told("?since=\(cursors[1])") == (false, ["c"]))
    }
  }
}
