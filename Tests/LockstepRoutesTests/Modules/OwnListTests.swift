import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("A list module of another package is served like the built-in ones", .timeLimit(.minutes(10)))
struct OwnListTests {
  private static func ids(_ response: RawResponse) -> [String] {
    (response.json["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  private static func run(_ body: (ServerFixture, Device) async throws -> Void) async throws {
    try await ServerFixture.run(modules: [.notes, .scores]) { users in try await body(users, try await users.signUp()) }
  }

  @Test("An element can be put, read with its index, patched and deleted")
  func element() async throws {
    try await Self.run { users, ada in
      let made = try await ada.put("/v1/notes/a", #"{"text":"one"}"#)
      #expect(made.status == 201)
      #expect(made.text == #"{"id":"a","text":"one","madeAt":"1994-11-06T08:49:37.000Z","index":0}"#)
      let read = try await ada.get("/v1/notes/a")
      #expect(read.body == made.body)
      #expect(read.tag == made.tag)
      users.time.advance(by: 60)
      // A client may send back what it has read. Members that clients cannot choose are ignored.
      let again = try await ada.put("/v1/notes/a", read.text)
      #expect(again.status == 200)
      #expect(again.body == made.body)
      #expect(again.tag == made.tag)
      let patched = try await ada.patch("/v1/notes/a", #"{"text":"two"}"#)
      #expect(patched.status == 200)
      #expect(patched.json["text"] == "two")
      #expect(patched.json["madeAt"] == made.json["madeAt"])
      #expect(try await ada.delete("/v1/notes/a").status == 204)
      #expect(try await ada.delete("/v1/notes/a").problem == ProblemSummary("not-found"))
      #expect(try await ada.get("/v1/notes/a").problem == ProblemSummary("not-found"))
    }
  }

  @Test(
    "An invalid element is refused with the places of its faults, and nothing changes",
    arguments: [
      ("PUT", #"{}"#, ProblemSummary("validation-failed", "/text")),
      ("PUT", #"{"text":1,"color":2}"#, ProblemSummary("validation-failed", "/text", "/color")),
      ("PUT", #"{"text":"x","id":"b"}"#, ProblemSummary("validation-failed", "/id")),
      ("PUT", "[]", ProblemSummary("validation-failed", "")),
      ("PUT", "", ProblemSummary("validation-failed", "/text")),
      ("PUT", "{", ProblemSummary("malformed-json")),
      ("PATCH", #"{"text":"12345678901234567890123456789012345678901"}"#, ProblemSummary("validation-failed", "/text")),
    ]
  )
  func refused(method: String, body: String, expected: ProblemSummary) async throws {
    try await Self.run { _, ada in
      let response = try await ada.ask(method, "/v1/notes/a", body)
      #expect(response.problem == expected)
      #expect(try await ada.get("/v1/notes").json["count"] == 0)
    }
  }

  @Test("A JSON patch is not supported")
  func jsonPatch() async throws {
    try await Self.run { _, ada in
      let response = try await ada.patch("/v1/notes/a", "[]", ["Content-Type: application/json-patch+json"])
      #expect(response.problem == ProblemSummary("unsupported-media-type"))
    }
  }

  @Test("The list has pages, a filter by prefix, and an ETag")
  func whole() async throws {
    try await Self.run { _, ada in
      let empty = try await ada.get("/v1/notes")
      #expect(empty.text == #"{"cursor":"\#(empty.tag ?? "")","count":0,"items":[]}"#)
      for id in ["a1", "b1", "a2", "a3"] { _ = try await ada.put("/v1/notes/\(id)", #"{"text":""}"#) }
      let all = try await ada.get("/v1/notes")
      #expect(Self.ids(all) == ["a1", "b1", "a2", "a3"])
      #expect(try await ada.get("/v1/notes", ["If-None-Match: \(all.field("ETag") ?? "")"]).status == 304)
      let page = try await ada.get("/v1/notes?prefix=a&limit=2")
      #expect(Self.ids(page) == ["a1", "a2"])
      #expect(page.json["count"] == 3)
      let link = try #require(page.field("Link"))
      #expect(link.hasPrefix("</v1/notes?limit=2&after=a2&prefix=a&at="))
      let next = link.drop { $0 != "/" }.prefix { $0 != ">" }
      #expect(Self.ids(try await ada.get(String(next))) == ["a3"])
      #expect(try await ada.get("/v1/notes?after=zz").problem == ProblemSummary("invalid-parameter"))
      #expect(Self.ids(try await ada.get("/v1/notes?at=\(page.cursor ?? "")")) == ["a1", "b1", "a2", "a3"])
    }
  }

  @Test("One action or several can be posted, on the condition of the list's ETag")
  func actions() async throws {
    try await Self.run { _, ada in
      let one = try await ada.post("/v1/notes/actions", #"{"type":"put","payload":{"id":"a","text":"1"}}"#)
      #expect(one.status == 200)
      #expect(one.tag == (try await ada.get("/v1/notes")).tag)
      #expect(one.json["cursor"]?.stringValue == one.tag)
      #expect(one.json["results"]?[0]?["mutations"]?[0]?["type"] == "inserted")
      let stale = ["If-Match: \(one.field("ETag") ?? "")"]
      let two = #"[{"type":"put","payload":{"id":"b","text":"2"}},{"type":"move","payload":{"id":"b","index":0}}]"#
      let both = try await ada.post("/v1/notes/actions", two, stale)
      #expect(both.json["results"]?.arrayValue?.count == 2)
      #expect(Self.ids(try await ada.get("/v1/notes")) == ["b", "a"])
      let late = try await ada.post("/v1/notes/actions", #"{"type":"clear"}"#, stale)
      #expect(late.problem == ProblemSummary("precondition-failed"))
      #expect(late.json["current"] == (try await ada.get("/v1/notes")).json)
      // Changes of other modules do not affect the list.
      _ = try await ada.put("/v1/favorites/x", "{}")
      let fresh = ["If-Match: \(both.field("ETag") ?? "")"]
      let nothing = try await ada.post("/v1/notes/actions", #"{"type":"move","payload":{"id":"b","index":0}}"#, fresh)
      #expect(nothing.tag == both.tag)
      #expect(nothing.cursor != both.cursor)
      #expect(try await ada.post("/v1/notes/actions", #"{"type":"clear"}"#, fresh).status == 200)
      let batch = #"{"actions":[{"module":"notes","type":"put","payload":{"id":"c","text":"3"}}]}"#
      #expect(try await ada.post("/v1/actions", batch).status == 200)
      #expect(Self.ids(try await ada.get("/v1/notes")) == ["c"])
    }
  }

  @Test(
    "Faults of actions are all reported with their places, and nothing changes",
    arguments: [
      (#"{"type":"put","payload":{}}"#, ProblemSummary("validation-failed", "/payload/id", "/payload/text")),
      (#"{"type":"x"}"#, ProblemSummary("validation-failed", "/type")),
      (#"{"type":"clear","more":1}"#, ProblemSummary("validation-failed", "/more")),
      (
        #"[{"type":"put","payload":{"id":"a","text":""}},{"type":"x"},{"type":"move","payload":{"id":"a","index":-1}}]"#,
        ProblemSummary("validation-failed", "/1/type", "/2/payload/index")
      ),
      (
        #"[{"type":"put","payload":{"id":"a","text":""}},{"type":"remove","payload":{"id":"b"}}]"#,
        ProblemSummary("not-found")
      ),
      ("[]", ProblemSummary("validation-failed", "")),
      ("7", ProblemSummary("validation-failed", "")),
    ]
  )
  func faults(body: String, expected: ProblemSummary) async throws {
    try await Self.run { _, ada in
      let response = try await ada.post("/v1/notes/actions", body)
      #expect(response.problem == expected)
      #expect(try await ada.get("/v1/notes").json["count"] == 0)
    }
  }

  @Test("More than 500 actions at a time are refused")
  func tooMany() async throws {
    try await Self.run { _, ada in
      func body(_ count: Int) -> String {
        "[" + Array(repeating: #"{"type":"clear"}"#, count: count).joined(separator: ",") + "]"
      }
      let most = try await ada.post("/v1/notes/actions", body(500))
      #expect(most.status == 200)
      #expect(try await ada.post("/v1/notes/actions", body(501)).problem == ProblemSummary("validation-failed", ""))
    }
  }

  @Test("A repeated request with the same key is applied once and gets the same response")
  func idempotency() async throws {
    try await Self.run { _, ada in
      let body = #"{"type":"put","payload":{"id":"a","text":""}}"#
      for target in ["/v1/notes/actions", "/v1/notes/b"] {
        let method = target.hasSuffix("b") ? "PUT" : "POST"
        let text = method == "PUT" ? #"{"text":""}"# : body
        let first = try await ada.ask(method, target, text, ["Idempotency-Key: \(method)"])
        let again = try await ada.ask(method, target, text, ["Idempotency-Key: \(method)"])
        #expect(again.field("Idempotency-Replayed") == "true")
        #expect(again.body == first.body)
        #expect(again.status == first.status)
      }
      #expect(try await ada.get("/v1/journal").json["entries"]?.arrayValue?.count == 2)
    }
  }

  @Test("An element may have the same name as the path of the actions")
  func namedActions() async throws {
    try await Self.run { _, ada in
      let made = try await ada.put("/v1/notes/actions", #"{"text":"x"}"#)
      #expect(made.status == 201)
      #expect(try await ada.get("/v1/notes/actions").json["id"] == "actions")
      #expect(try await ada.post("/v1/notes/actions", #"{"type":"clear"}"#).status == 200)
      #expect(try await ada.delete("/v1/notes/actions").status == 404)
    }
  }

  @Test("A wait on the list ends as soon as the list changes, and not earlier")
  func waiting() async throws {
    try await Self.run { users, ada in
      let before = try await ada.get("/v1/notes")
      let waiter = try await ada.waiting("/v1/notes?wait=30", ["If-None-Match: \(before.field("ETag") ?? "")"])
      await eventually { users.waiting == 1 }
      _ = try await ada.put("/v1/favorites/a", "{}")
      #expect(users.waiting == 1)
      _ = try await ada.put("/v1/notes/a", #"{"text":"x"}"#)
      #expect(try await waiter.response().body == (try await ada.get("/v1/notes")).body)
    }
  }

  @Test("The feed can be filtered by the list, and the journal has its actions and mutations")
  func feed() async throws {
    try await Self.run { _, ada in
      let start = try await ada.get("/v1/changes?collections=notes")
      #expect(start.json["changesets"] == [["collection": "notes", "kind": "list", "items": []]])
      _ = try await ada.put("/v1/favorites/a", "{}")
      _ = try await ada.put("/v1/notes/a", #"{"text":"x"}"#)
      let told = try await ada.get("/v1/changes?collections=notes&since=\(start.json["cursor"]?.stringValue ?? "")")
      let item = try await ada.get("/v1/notes").json["items"]?[0] ?? .null
      #expect(
        told.json["changesets"] == [
          [
            "collection": "notes", "kind": "list", "deletions": [], "insertions": [["index": 0, "item": item]],
            "moves": [], "modifications": [],
          ]
        ]
      )
      let reset = try await ada.get("/v1/changes").json["changesets"]?.arrayValue ?? []
      #expect(reset.compactMap { $0["collection"]?.stringValue } == ["favorites", "notes", "profile", "scores"])
      let entry = try await ada.get("/v1/journal").json["entries"]?[1]
      #expect(entry?["module"] == "notes")
      #expect(entry?["action"] == ["type": "put", "payload": ["text": "x", "id": "a"]])
      #expect(entry?["mutations"] == [["type": "inserted", "payload": ["index": 0, "item": item]]])
      let unknown = try await ada.get("/v1/changes?collections=nothing")
      #expect(unknown.problem == ProblemSummary("invalid-parameter"))
      #expect(unknown.text.contains("only defaults/<suite>, favorites, notes, profile, scores"))
    }
  }

  @Test("It is in the catalogue and in the index")
  func catalogue() async throws {
    try await Self.run { users, _ in
      let items = try await users.ask("GET", "/v1/reactors").json["items"]?.arrayValue ?? []
      let notes = try #require(items.first { $0["name"] == "notes" })
      #expect(notes["scope"] == "user")
      #expect(
        notes["actions"]?[0]?["payload"]?["properties"]?["text"] == ["type": "string", "minLength": 0, "maxLength": 40]
      )
      let element = notes["state"]?["properties"]?["items"]?["items"]
      #expect(element?["properties"]?["madeAt"] == ["type": "string", "format": "date-time", "readOnly": true])
      #expect(try await users.ask("GET", "/").json["links"]?["v1/notes"] == "/v1/notes")
    }
  }

  @Test("After a restart, a list with a random order has the same bytes and the same tag")
  func restart() async throws {
    let seed = TestSeed.make(for: "OwnListTests.restart")
    var random = SeededNumbers(seed: seed)
    try await ServerFixture.run(modules: [.notes]) { users in
      let ada = try await users.signUp()
      var ids: [String] = []
      for round in 0..<4 {
        var actions: [String] = []
        for _ in 0..<100 {
          switch random.below(ids.isEmpty ? 1 : 8) {
          case 0...3:
            let (id, index) = ("n\(random.next())", random.below(ids.count + 1))
            ids.insert(id, at: index)
            actions.append(#"{"type":"put","payload":{"id":"\#(id)","text":"\#(round)","index":\#(index)}}"#)
          case 4, 5:
            let id = random.one(of: ids)
            ids.removeAll { $0 == id }
            let index = random.below(ids.count + 1)
            ids.insert(id, at: index)
            actions.append(#"{"type":"move","payload":{"id":"\#(id)","index":\#(index)}}"#)
          case 6:
            let id = random.one(of: ids)
            actions.append(#"{"type":"put","payload":{"id":"\#(id)","text":"again"}}"#)
          default:
            let id = random.one(of: ids)
            ids.removeAll { $0 == id }
            actions.append(#"{"type":"remove","payload":{"id":"\#(id)"}}"#)
          }
        }
        let response = try await ada.post("/v1/notes/actions", "[" + actions.joined(separator: ",") + "]")
        try #require(response.status == 200, "seed \(seed): \(response.text)")
        let before = try await ada.get("/v1/notes")
        #expect(Self.ids(before) == ids, "seed \(seed)")
        try await users.restart()
        let after = try await ada.get("/v1/notes")
        #expect(after.body == before.body, "seed \(seed)")
        #expect(after.tag == before.tag, "seed \(seed)")
      }
      _ = try await ada.post("/v1/notes/actions", #"{"type":"clear"}"#)
      let cleared = try await ada.get("/v1/notes")
      try await users.restart()
      #expect(try await ada.get("/v1/notes").tag == cleared.tag)
    }
  }

  @Test("The order survives a restart after many insertions at the same place")
  func between() async throws {
    try await Self.run { users, ada in
      let ids = (0..<60).map { "n\($0)" }
      let actions = ids.enumerated().map { place, id in
        #"{"type":"put","payload":{"id":"\#(id)","text":"\#(id)","index":\#(min(place, 1))}}"#
      }
      let response = try await ada.post("/v1/notes/actions", "[" + actions.joined(separator: ",") + "]")
      #expect(response.status == 200)
      let before = try await ada.get("/v1/notes")
      #expect(Self.ids(before) == ["n0"] + ids.dropFirst().reversed())
      try await users.restart()
      let after = try await ada.get("/v1/notes")
      #expect(after.body == before.body)
      #expect(after.tag == before.tag)
    }
  }

  @Test("An unreadable element in the store is logged, and other users are served")
  func unreadable() async throws {
    try await Self.run { users, ada in
      let bob = try await users.signUp("bob")
      for device in [ada, bob] { #expect(try await device.put("/v1/notes/a", #"{"text":"x"}"#).status == 201) }
      await users.stop()
      _ = try await users.rows(
        "UPDATE list_elements SET element = '{\"id\":\"a\"}' WHERE user_id = '\(ada.user)'"
      )
      try await users.restart()
      #expect(try await ada.get("/v1/notes").problem == ProblemSummary("internal"))
      #expect(
        users.log.text.contains(
          "the element “a” in notes of user \(ada.user) in the table list_elements cannot be read"
        )
      )
      #expect(Self.ids(try await bob.get("/v1/notes")) == ["a"])
      guard TestedStore.isSQLite else { return }
      let report = try StoreCheck(of: users.storePath, modules: [.notes, .scores]).run()
      #expect(report.findings.map(\.what) == ["list_elements: “a” in notes of user \(ada.user) cannot be read"])
      #expect(report.users == 2)
    }
  }

  @Test("Above the quota, a write is refused and the list stays")
  func quota() async throws {
    try await ServerFixture.run(modules: [.notes(CollectionQuota(elements: 2, bytes: 180))]) { users in
      let ada = try await users.signUp()
      for id in ["a", "b"] { #expect(try await ada.put("/v1/notes/\(id)", #"{"text":""}"#).status == 201) }
      #expect(try await ada.put("/v1/notes/c", #"{"text":""}"#).problem == ProblemSummary("quota-exceeded"))
      let long = #"{"text":"\#(String(repeating: "x", count: 40))"}"#
      #expect(try await ada.put("/v1/notes/a", long).status == 200)
      #expect(try await ada.put("/v1/notes/b", long).problem == ProblemSummary("quota-exceeded"))
      let swap = #"[{"type":"remove","payload":{"id":"b"}},{"type":"put","payload":{"id":"c","text":""}}]"#
      #expect(try await ada.post("/v1/notes/actions", swap).status == 200)
      #expect(Self.ids(try await ada.get("/v1/notes")) == ["a", "c"])
    }
  }

  @Test(
    "An invalid mutation of a reactor is logged, and nothing changes",
    arguments: NotesAction.Mistake.allCases
  )
  func mistakes(mistake: NotesAction.Mistake) async throws {
    try await Self.run { users, ada in
      let actions =
        #"[{"type":"put","payload":{"id":"x","text":""}},{"type":"err","payload":{"mistake":"\#(mistake)"}}]"#
      let response = try await ada.post("/v1/notes/actions", actions)
      #expect(response.problem == ProblemSummary("internal"))
      #expect(try await ada.get("/v1/notes").json["count"] == 0)
      #expect(users.log.text.contains("a mistake in the module notes"))
    }
  }
}
