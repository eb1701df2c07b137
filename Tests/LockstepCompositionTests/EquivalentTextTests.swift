import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

/// Texts that are equal in Swift, because Unicode considers them equal, but not in the store, in JSON and for clients.
@Suite("Texts that Unicode considers equal are different", .timeLimit(.minutes(10)))
struct EquivalentTextTests {
  /// Pairs of texts that are equal as `String`.
  private static let pairs: [(first: String, other: String)] = [
    ("jos\u{E9}", "jose\u{301}"), ("Kim", "\u{212A}im"), ("\u{C5}", "\u{212B}"), ("\u{1E69}", "s\u{307}\u{323}"),
  ]

  /// Writes that were all waiting when the writer began, so that a store commits them as one group.
  private func together(
    _ users: ServerFixture,
    _ count: Int,
    _ write: @escaping @Sendable (_ index: Int) async throws -> RawResponse
  ) async throws -> [RawResponse] {
    let held = try await users.holdWriter()
    let responses = Task {
      try await withThrowingTaskGroup(of: (Int, RawResponse).self) { group in
        for index in 0..<count { group.addTask { (index, try await write(index)) } }
        var responses: [(Int, RawResponse)] = []
        for try await response in group { responses.append(response) }
        return responses.sorted { $0.0 < $1.0 }.map(\.1)
      }
    }
    await eventually { held.waiting >= count }
    held.letGo()
    return try await responses.value
  }

  @Test("Idempotency keys: two writes of one group, and their repetitions")
  func idempotencyKeys() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let keys = Self.pairs.flatMap { [$0.first, $0.other] }
      @Sendable func write(_ index: Int) async throws -> RawResponse {
        try await ada.put("/v1/defaults/standard/k\(index)", "\(index)", ["Idempotency-Key: \(keys[index])"])
      }
      let responses = try await together(users, keys.count, write)
      for (index, response) in responses.enumerated() { #expect(response.status == 201, "\(keys[index])") }
      for index in keys.indices {
        let again = try await write(index)
        #expect(again.status == 201 && again.field("Idempotency-Replayed") == "true", "\(keys[index])")
        #expect(again.body == responses[index].body)
      }
      let changes = try await ada.get("/v1/changes").json
      let found = (changes["keys"]?.arrayValue ?? []).compactMap { $0.stringValue.map { Array($0.utf8) } }
      #expect(Set(found) == Set(keys.map { Array($0.utf8) }))
    }
  }

  @Test("Elements and keys of one batch, of one group, and in a changeset")
  func elements() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let start = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let names = Self.pairs.flatMap { [$0.first, $0.other] }
      let responses = try await together(users, names.count) { index in
        let name = names[index]
        let body: JSON = [
          "actions": [
            ["module": "favorites", "type": "add", "payload": ["id": .string(name), "title": .string(name)]],
            ["module": "defaults", "type": "set", "payload": ["key": .string(name), "value": .string(name)]],
          ]
        ]
        return try await ada.post("/v1/actions", "\(body)")
      }
      for response in responses { #expect(response.status == 200, "\(response.text)") }
      for _ in 0..<2 {
        let changes = try await ada.get("/v1/changes?since=\(start)").json["changesets"]?.arrayValue ?? []
        let inserted = changes.first { $0["kind"] == "list" }?["insertions"]?.arrayValue ?? []
        #expect(Set(inserted.compactMap { $0["item"]?["id"] }) == Set(names.map { .string($0) }))
        let set = changes.first { $0["kind"] == "map" }?["set"]?.objectValue
        #expect(set == JSONObject(names.map { ($0, .string($0)) }))
        try await users.restart()
      }
      let removed: JSON = [
        "actions": .array(
          Self.pairs.map { ["module": "favorites", "type": "remove", "payload": ["id": .string($0.first)]] }
        )
      ]
      #expect(try await ada.post("/v1/actions", "\(removed)").status == 200)
      let left = try await ada.favoriteIDs()
      #expect(Set(left.map { Array($0.utf8) }) == Set(Self.pairs.map { Array($0.other.utf8) }))
    }
  }

  @Test("A change of the encoding alone is a change: a revision, a changeset and another tag")
  func modifications() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (first, other) in Self.pairs {
        func write(_ text: String) async throws {
          _ = try await ada.put("/v1/favorites/a", "\(["title": .string(text)] as JSON)")
          _ = try await ada.put("/v1/defaults/standard/a", "\([.string(text)] as JSON)")
        }
        try await write(first)
        let (tag, since) = (try await ada.get("/v1/favorites/a").tag, try await ada.get("/v1/favorites").cursor ?? "")
        try await write(other)
        #expect(try await ada.get("/v1/favorites/a").tag != tag)
        let changes = try await ada.get("/v1/changes?since=\(since)").json["changesets"]?.arrayValue ?? []
        let modified = changes.first { $0["kind"] == "list" }?["modifications"]?[0]?["item"]?["title"]
        #expect(modified == .string(other), "\(other)")
        #expect(changes.first { $0["kind"] == "map" }?["set"]?["a"] == [.string(other)], "\(other)")
        let test: JSON = [["op": "test", "path": "/title", "value": .string(first)]]
        let fields = ["Content-Type: application/json-patch+json"]
        #expect(try await ada.patch("/v1/favorites/a", "\(test)", fields).status == 409)
      }
    }
  }

  @Test("A collection is not found by its name in another encoding")
  func names() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }) { users in
      let ada = try await users.signUp()
      let declared = try await users.admin.put("/v1/admin/collections/bigKites", #"{"kind":"list"}"#)
      #expect(declared.status == 201, "\(declared.text)")
      #expect(try await ada.put("/v1/bigKites/a", "{}").status == 201)
      #expect(try await ada.get("/v1/big%E2%84%AAites").status == 404)
      #expect(try await ada.put("/v1/big%E2%84%AAites/b", "{}").status == 404)
      let action: JSON = ["module": "big\u{212A}ites", "type": "add", "payload": ["id": "b"]]
      #expect(try await ada.post("/v1/actions", "\(["actions": [action]] as JSON)").status == 422)
      #expect(try await users.admin.get("/v1/admin/collections/big%E2%84%AAites").status == 404)
      #expect(try await ada.get("/v1/bigKites").json["count"] == 1)
    }
  }

  @Test("Names of collections, and mutations of lists and maps")
  func values() {
    for (first, other) in Self.pairs {
      #expect(first == other)
      #expect(CollectionName(first) != CollectionName(other))
      #expect(CollectionName("defaults", part: first) != CollectionName("defaults", part: other))
      #expect(Set([CollectionName(first), CollectionName(other)]).count == 2)
      let (text, otherText) = (EncodedJSON(.string(first)), EncodedJSON(.string(other)))
      let lists: [(ListMutation, ListMutation)] = [
        (.inserted(id: first, item: text, index: 0), .inserted(id: other, item: text, index: 0)),
        (.inserted(id: "a", item: text, index: 0), .inserted(id: "a", item: otherText, index: 0)),
        (.modified(id: first, item: text), .modified(id: other, item: text)),
        (.removed(id: first), .removed(id: other)), (.moved(id: first, to: 1), .moved(id: other, to: 1)),
      ]
      for (left, right) in lists { #expect(left != right && left == left) }
      let maps: [(MapMutation, MapMutation)] = [
        (.set(key: first, value: text), .set(key: other, value: text)),
        (.set(key: "a", value: text), .set(key: "a", value: otherText)), (.removed(key: first), .removed(key: other)),
      ]
      for (left, right) in maps { #expect(left != right && left == left) }
    }
  }

  @Test("Each fault of a body is named, also if two names look alike")
  func faults() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let declaration = #"{"kind":"map","schema":{"type":"string"}}"#
      #expect(try await users.admin.put("/v1/admin/collections/levels", declaration).status == 201)
      let names = Self.pairs.flatMap { [$0.first, $0.other] }
      let body = JSON.object(JSONObject(names.map { ($0, JSON(1)) }))
      let merge: JSON = ["module": "levels", "type": "merge", "payload": ["values": body]]
      for (response, path) in [
        (try await ada.patch("/v1/profile", "\(body)"), "/"),
        (try await ada.post("/v1/actions", "\(["actions": [merge]] as JSON)"), "/actions/0/payload/values/"),
      ] {
        #expect(response.status == 422)
        let pointers = (response.json["errors"]?.arrayValue ?? []).compactMap { $0["pointer"] }
        #expect(Set(pointers) == Set(names.map { .string(path + $0) }), "\(response.text)")
      }
    }
  }
}
