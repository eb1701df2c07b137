import LockstepCollections
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepComposition
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
import LockstepThreading

@Suite("Changing and deleting declared collections", .timeLimit(.minutes(10)))
struct DeclaredChangesTests {
  /// The whole states that a client with an old cursor gets. Its next request gets no reset.
  private static func reset(of device: Device, since cursor: String) async throws -> [JSON] {
    let changes = try await device.get("/v1/changes?since=\(cursor)").json
    #expect(changes["reset"] == true)
    let next = try await device.get("/v1/changes?since=\(changes["cursor"]?.stringValue ?? "")").json
    #expect(next["reset"] == false && next["changesets"] == [])
    return try #require(changes["changesets"]?.arrayValue)
  }

  @Test("A changed schema leaves stored elements as they are, and holds for the next write")
  func changedSchema() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      let strict = #"{"kind":"list","schema":{"type":"object","required":["song","stars"]}}"#
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", strict).status == 200)
      // openapi.json has the present schema, and the stored element need not match it. So these
      // responses are not compared with it.
      func unchecked(_ method: String, _ target: String, _ body: String = "") async throws -> RawResponse {
        let client = try users.connect()
        defer { client.close() }
        let fields = ["Authorization: Bearer \(ada.token)", "Content-Length: \(body.utf8.count)"]
        try await client.send(Array((StubbedServer.request(method, target, fields) + body).utf8))
        return try await client.response()
      }
      #expect(try await unchecked("GET", "/v1/playlist/a").json["data"] == ["song": "Aria"])
      #expect(try await unchecked("PUT", "/v1/playlist/a/position", #"{"index":0}"#).status == 200)
      #expect(try await ada.patch("/v1/playlist/a", #"{"title":"A"}"#).json["errors"]?[0]?["pointer"] == "/data/stars")
      #expect(try await ada.patch("/v1/playlist/a", #"{"data":{"stars":1}}"#).status == 200)
      try await users.restart()
      #expect(try await ada.get("/v1/playlist/a").json["data"] == ["song": "Aria", "stars": 1])
    }
  }

  @Test("A collection with data is deleted only together with the data, which the journal shows")
  func deleting() async throws {
    try await DeclaredExamples.serve { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      for user in [ada, bob] {
        #expect(try await user.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      }
      let refused = try await users.admin.delete("\(DeclaredExamples.path)/playlist")
      #expect(refused.problem == ProblemSummary("conflict"))
      #expect(try await ada.put("/v1/playlist/b", #"{"data":{"song":"still open"}}"#).status == 201)
      let cursor = try await ada.get("/v1/playlist").field("Cursor") ?? ""
      let held = try await ada.waiting(
        "/v1/playlist?wait=50",
        ["If-None-Match: \"\(try await ada.get("/v1/playlist").tag ?? "")\""]
      )
      await eventually { users.waiting == 1 }
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/playlist?erase=true").status == 204)
      #expect([200, 404].contains(try await held.response().status))
      #expect(try await ada.get("/v1/playlist").status == 404)
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 404)
      let gone = #"{"actions":[{"module":"playlist","type":"clear"}]}"#
      #expect(try await ada.post("/v1/actions", gone).json["errors"]?[0]?["pointer"] == "/actions/0/module")
      #expect(
        try await ada.get("/v1/journal?since=\(cursor)").json["entries"]?.arrayValue?.last?["by"] == "administrator"
      )
      let names = try await bob.get("/v1/changes").json["changesets"]?.arrayValue?.compactMap {
        $0["collection"]?.stringValue
      }
      #expect(names == ["favorites", "levels", "profile"])
      #expect(try await bob.get("/openapi.json").json["paths"]?["/v1/playlist"] == nil)
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/playlist").problem == ProblemSummary("not-found"))
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/levels").status == 204)
      try await users.restart()
      #expect(try await ada.get("/v1/playlist").status == 404)
    }
  }

  @Test("The kind of a collection changes only while no user has data in it")
  func otherKind() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      let cursor = try await ada.get("/v1/playlist").field("Cursor") ?? ""
      let map = #"{"kind":"map"}"#
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", map).problem == ProblemSummary("conflict"))
      #expect(try await ada.delete("/v1/playlist/a").status == 204)
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", map).status == 200)
      #expect(try await ada.get("/v1/playlist").json["values"] == [:])
      #expect(try await ada.put("/v1/playlist/a", #""now a value""#).status == 201)
      #expect(try await ada.get("/v1/playlist").json["values"] == ["a": "now a value"])
      #expect(try await ada.get("/v1/playlist?at=\(cursor)").json["values"] == [:])
      try await users.restart()
      #expect(try await ada.get("/v1/playlist").json["values"] == ["a": "now a value"])
      #expect(try await ada.get("/v1/playlist?at=\(cursor)").json["values"] == [:])
    }
  }

  @Test("A client that was away while a collection was deleted starts over without it, once")
  func startingOver() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      let cursor = try await ada.get("/v1/playlist").field("Cursor") ?? ""
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/playlist?erase=true").status == 204)
      #expect(try await ada.put("/v1/favorites/b", "{}").status == 201)
      for _ in 1...2 {
        let changesets = try await Self.reset(of: ada, since: cursor)
        #expect(changesets.map { $0["collection"] } == ["favorites", "levels", "profile"])
        try await users.restart()
      }
      // A collection that is declared again with the name is another one.
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", DeclaredExamples.playlist).status == 201)
      #expect(try await ada.put("/v1/playlist/c", #"{"data":{"song":"Coda"}}"#).status == 201)
      for _ in 1...2 {
        let items = try await Self.reset(of: ada, since: cursor)[2]["items"]?.arrayValue
        #expect(items?.map { $0["id"] } == ["c"])
        try await users.restart()
      }
    }
  }

  @Test("A client that was away while a collection got another kind starts over, once")
  func startingOverWithOtherKind() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      #expect(try await ada.put("/v1/levels/one", "1").status == 201)
      let cursor = try await ada.get("/v1/levels").field("Cursor") ?? ""
      #expect(try await ada.delete("/v1/playlist/a").status == 204)
      #expect(try await ada.delete("/v1/levels/one").status == 204)
      let after = try await ada.get("/v1/changes").json["cursor"]?.stringValue ?? ""
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", #"{"kind":"map"}"#).status == 200)
      #expect(try await users.admin.put("\(DeclaredExamples.path)/levels", #"{"kind":"list"}"#).status == 200)
      for _ in 1...2 {
        let changesets = try await Self.reset(of: ada, since: cursor)
        #expect(changesets[1] == ["collection": "levels", "kind": "list", "items": []])
        // The client knew already that both were empty.
        #expect(try await ada.get("/v1/changes?since=\(after)").json["reset"] == false)
        try await users.restart()
      }
      #expect(try await ada.put("/v1/playlist/b", "1").status == 201)
      #expect(try await ada.put("/v1/levels/two", "{}").status == 201)
      for _ in 1...2 {
        let changes = try await ada.get("/v1/changes?since=\(after)").json
        #expect(changes["reset"] == false)
        #expect(changes["changesets"]?[0]?["insertions"]?[0]?["item"]?["id"] == "two")
        #expect(
          changes["changesets"]?[1] == ["collection": "playlist", "kind": "map", "set": ["b": 1], "removed": []]
        )
        try await users.restart()
      }
    }
  }

  @Test("A client that follows a deleted collection keeps its other collections")
  func followingDeleted() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      #expect(try await ada.put("/v1/levels/one", "1").status == 201)
      let feed = "/v1/changes?collections=playlist,levels"
      let cursor = try await ada.get(feed).cursor ?? ""
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/playlist?erase=true").status == 204)
      for _ in 1...2 {
        let changes = try await ada.get("\(feed)&since=\(cursor)")
        #expect(changes.json["reset"] == true, "\(changes.text)")
        #expect(changes.json["changesets"]?.arrayValue?.map { $0["collection"] } == ["levels"])
        try await users.restart()
      }
      let entries = try await users.admin.get("/v1/admin/journal?collection=playlist").json["entries"]
      #expect(entries?.arrayValue?.count == 2)
      #expect(try await ada.get("/v1/changes?collections=playlists").status == 400)
    }
  }

  @Test("A collection with the name of a deleted one has no past, also as a condition")
  func withoutPast() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      let cursor = try await ada.get("/v1/playlist").field("Cursor") ?? ""
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/playlist?erase=true").status == 204)
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", DeclaredExamples.playlist).status == 201)
      for _ in 1...2 {
        #expect(try await ada.get("/v1/playlist?at=\(cursor)").json["count"] == 0)
        #expect(try await ada.get("/v1/playlist/a?at=\(cursor)").status == 404)
        let refused = try await ada.put("/v1/playlist/a", #"{"data":{"song":"b"}}"#, ["If-Match: \"\(cursor)\""])
        #expect(refused.status == 412, "\(refused.text)")
        try await users.restart()
      }
      #expect(try await ada.put("/v1/playlist/b", #"{"data":{"song":"Coda"}}"#).status == 201)
      let next = try await ada.get("/v1/playlist").field("Cursor") ?? ""
      for kind in ["map", "list"] {
        _ = try await ada.delete("/v1/playlist/b")
        let changed = try await users.admin.put("\(DeclaredExamples.path)/playlist", #"{"kind":"\#(kind)"}"#)
        #expect(changed.status == 200)
      }
      try await users.restart()
      #expect(try await ada.get("/v1/playlist?at=\(next)").json["count"] == 0)
    }
  }

  @Test("A write of another kind than its collection has by now is refused")
  func writeOfOtherKind() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      let services = try #require(users.running.withLock { $0?.services.users })
      let user = try #require(UserID(ada.user))
      // As if the request had arrived before the collection became a map.
      let action = UserAction(collection: CollectionName("levels"), record: #"{"type":"clear"}"#) { _ in
        [.list(.cleared)]
      }
      let transaction = Transaction(
        user: user,
        session: LiveSession(of: user, for: services.accounts.serviceTokens.administrator),
        actions: [action],
        response: { _ in StoredResponse(status: 204, fields: []) },
        refusal: { _ in nil }
      )
      let reservation = services.states.ledger.reserve(user)
      if reservation.needsLoading { try await services.states.ledger.load(reservation, from: nil) }
      await #expect(throws: ActionRefusal.self) {
        _ = try await withCompletion {
          try services.states.ledger.submit(transaction, reservation, completion: $0)
        }
      }
      #expect(try await ada.get("/v1/journal").json["entries"] == [])
    }
  }

  @Test("A change that is refused as a whole writes nothing, also if its refusal is recorded for a key")
  func refusedAsAWhole() async throws {
    try await DeclaredExamples.serve { users in
      let services = try #require(users.running.withLock { $0?.services.users })
      let work = CollectionsWork.apply([.init(name: "notes", kind: .list), .init(name: "favorites", kind: .list)])
      guard case .refused = try await services.perform(work, key: IdempotencyKey("k", fingerprint: [])) else {
        Issue.record("It was not refused.")
        return
      }
      #expect(try await users.admin.get("\(DeclaredExamples.path)/notes").status == 404)
      try await users.restart()
      #expect(try await users.admin.get("\(DeclaredExamples.path)/notes").status == 404)
    }
  }

  @Test("An empty list and the empty map that replaces it have different tags")
  func tagsOfEmptyCollections() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      let list = try #require(try await ada.get("/v1/playlist").tag)
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", #"{"kind":"map"}"#).status == 200)
      let map = try await ada.get("/v1/playlist", ["If-None-Match: \"\(list)\""])
      #expect(map.status == 200 && map.json["values"] == [:])
      let tag = try #require(map.tag)
      #expect(try await ada.get("/v1/playlist", ["If-None-Match: \"\(tag)\""]).status == 304)
      #expect(try await ada.patch("/v1/playlist", #"{"a":1}"#, ["If-Match: \"\(tag)\""]).status == 200)
      #expect(try await ada.put("/v1/playlist/a", "1", ["If-Match: \"\(tag)\""]).status == 412)
    }
  }

  @Test("A change of the kind is refused if If-Match has another tag")
  func otherKindWithTag() async throws {
    try await DeclaredExamples.serve { users in
      let path = "\(DeclaredExamples.path)/playlist"
      let tag = try #require(try await users.admin.get(path).tag)
      let refused = try await users.admin.put(path, #"{"kind":"map"}"#, ["If-Match: \"other\""])
      #expect(refused.status == 412 && refused.json["current"]?["kind"] == "list", "\(refused.text)")
      #expect(try await users.admin.put(path, #"{"kind":"map"}"#, ["If-Match: \"\(tag)\""]).status == 200)
      let changed = try await users.admin.get(path)
      #expect(changed.json["kind"] == "map" && changed.json["deleting"] == nil)
    }
  }

  @Test("A wait on a collection that gets another kind ends, and the next read shows the new kind")
  func waitForOtherKind() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      #expect(try await ada.delete("/v1/playlist/a").status == 204)
      let tag = try #require(try await ada.get("/v1/playlist").tag)
      let held = try await ada.waiting("/v1/playlist?wait=50", ["If-None-Match: \"\(tag)\""])
      await eventually { users.waiting == 1 }
      #expect(try await users.admin.put("\(DeclaredExamples.path)/playlist", #"{"kind":"map"}"#).status == 200)
      #expect(try await held.response().status == 404)
      #expect(try await ada.get("/v1/playlist").json["values"] == [:])
    }
  }

  @Test("A repeated declaration or deletion with its idempotency key gets the first response")
  func repeated() async throws {
    try await ServerFixture.administered { users in
      let key = ["Idempotency-Key: k1"]
      let first = try await users.admin.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#, key)
      let again = try await users.admin.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#, key)
      #expect(first.status == 201 && again.status == 201 && again.field("Idempotency-Replayed") == "true")
      let deletion = ["Idempotency-Key: k2"]
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/inbox", deletion).status == 204)
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/inbox", deletion).status == 204)
      #expect(try await users.admin.delete("\(DeclaredExamples.path)/inbox").status == 404)
    }
  }

  @Test("Writes while a collection is deleted and declared again are kept, or refused without a trace")
  func races() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      #expect(try await users.admin.put("\(DeclaredExamples.path)/notes", #"{"kind":"map"}"#).status == 201)
      await withTaskGroup { group in
        group.addTask {
          for round in 0..<20 {
            _ = try? await users.admin.delete(
              "\(DeclaredExamples.path)/notes\(round.isMultiple(of: 2) ? "?erase=true" : "")"
            )
            _ = try? await users.admin.put("\(DeclaredExamples.path)/notes", #"{"kind":"map"}"#)
          }
        }
        group.addTask {
          for number in 0..<100 {
            guard let response = try? await ada.put("/v1/notes/n\(number)", "1") else { continue }
            // The declaration may change between the check of the value and the decision.
            #expect([201, 404, 409, 503].contains(response.status))
          }
        }
      }
      let shown = try await ada.get("/v1/notes").json["values"]
      try await users.restart()
      #expect(try await ada.get("/v1/notes").json["values"] == shown)
    }
  }
}
