import LockstepJSON
import LockstepReactor
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The catalogue of reactors", .timeLimit(.minutes(10)))
struct CatalogueTests {
  /// Actions of every type with their payloads.
  private static let actions: [(reactor: String, actions: [(type: String, payload: JSON)])] = [
    (
      "favorites",
      [
        ("add", ["id": "a", "title": "A", "data": [1], "index": 0]), ("add", ["id": "b"]),
        ("update", ["id": "a", "title": nil]), ("move", ["id": "a", "index": 1]), ("toggle", ["id": "c"]),
        ("remove", ["id": "c"]), ("clear", [:]),
      ]
    ),
    (
      "defaults",
      [
        ("set", ["suite": "game", "key": "x", "value": 1]), ("set", ["key": "y", "value": false]),
        ("merge", ["values": ["a": 1, "b": nil]]), ("increment", ["suite": nil, "key": "n", "by": 1.5]),
        ("remove", ["key": "a"]), ("clear", ["suite": "game"]),
      ]
    ),
    ("profile", [("save", ["companyName": "Aurora", "position": "Chief"]), ("save", [:])]),
    (
      "login",
      [
        ("setUsername", ["value": "ada@example.com"]), ("setPassword", ["value": "correct horse"]),
        ("setActive", ["value": true]), ("submit", [:]),
      ]
    ),
    (
      "workingHistory",
      [
        ("setCompanyName", ["value": "Aurora"]), ("setPosition", ["value": " Chief "]), ("save", [:]),
        ("answer", ["prompt": 1, "choice": "cancel"]), ("setActive", ["value": false]),
      ]
    ),
    (
      "favoritesTop",
      [("tapFavoritePhoto", ["row": 0]), ("viewWillAppear", [:]), ("setActive", ["value": true])]
    ),
    (
      "recentFavorites",
      [("tapPhoto", ["row": 0]), ("viewWillAppear", [:]), ("setActive", ["value": true])]
    ),
    ("photoDetail", [("toggleFavorite", [:]), ("setActive", ["value": true])]),
  ]

  private static func item(_ name: String, in catalogue: JSON) throws -> JSON {
    try #require(catalogue["items"]?.arrayValue?.first { $0["name"] == .string(name) })
  }

  @Test("It lists all reactors with scope, authentication and URL")
  func names() async throws {
    try await ServerFixture.run { users in
      let response = try await users.ask("GET", "/v1/reactors")
      let items = try #require(response.json["items"]?.arrayValue)
      #expect(items.compactMap { $0["name"]?.stringValue } == Self.actions.map(\.reactor))
      #expect(items.map { $0["scope"] } == Array(repeating: "user", count: 3) + Array(repeating: "screen", count: 5))
      #expect(items.filter { $0["auth"] == false }.map { $0["name"] } == ["login"])
      let starts = items.filter { $0["start"] == true }.compactMap { $0["href"]?.stringValue }
      #expect(starts == ["login", "workingHistory", "favoritesTop", "recentFavorites"].map { "/v1/reactors/\($0)" })
      #expect(try Self.item("photoDetail", in: response.json)["arguments"]?["required"] == ["photoId"])
    }
  }

  @Test(
    "Each screen accepts the actions that its schemas describe, and shows states that fit its schema",
    arguments: 3..<8
  )
  func screens(index: Int) async throws {
    let (name, samples) = Self.actions[index]
    try await ServerFixture.run(replacing: { $0.upstream = RefusingUpstream() }) { users in
      let item = try Self.item(name, in: try await users.ask("GET", "/v1/reactors").json)
      Self.check(samples, item)
      let phone = try await users.signUp()
      _ = try await phone.put("/v1/favorites/a", #"{"title":"A"}"#)
      let screen = try await phone.open("\(name)\(name == "photoDetail" ? "?photoId=a" : "")")
      Self.checkState(screen.opened.json["state"], item)
      for sample in samples {
        if sample.type == "answer" { try await screen.shows("a prompt") { $0["prompt"] != nil } }
        Self.checkState(try await screen.state(), item)
        let response = try await screen.act("\(JSON.object(["type": .string(sample.type), "payload": sample.payload]))")
        #expect(response.status == 200, "\(response.text)")
        Self.checkState(response.json["state"], item)
      }
      if name == "login" { try await screen.shows("a session") { $0["session"] != nil } }
      Self.checkState(try await screen.state(), item)
    }
  }

  @Test("Each module accepts the actions that its schemas describe", arguments: 0..<3)
  func modules(index: Int) async throws {
    let (name, samples) = Self.actions[index]
    try await ServerFixture.run { users in
      let item = try Self.item(name, in: try await users.ask("GET", "/v1/reactors").json)
      Self.check(samples, item)
      let phone = try await users.signUp()
      let target = "/v1/\(name)\(name == "defaults" ? "/standard" : "")"
      for sample in samples {
        let action: JSON = ["module": .string(name), "type": .string(sample.type), "payload": sample.payload]
        let response = try await phone.post("/v1/actions", "\(JSON.object(["actions": [action]]))")
        #expect(response.status == 200, "\(response.text)")
        Self.checkState(try await phone.get(target).json, item)
      }
    }
  }

  @Test("A payload that breaks a schema is refused, with faults at the same places")
  func forbidden() async throws {
    let cases: [(reactor: String, type: String, payload: JSON)] = [
      ("favorites", "add", ["id": 7, "title": false, "index": -1]), ("favorites", "move", ["id": "a", "index": nil]),
      ("favorites", "remove", [:]), ("defaults", "set", ["suite": 1, "key": "", "value": nil]),
      ("defaults", "increment", ["key": "a", "by": "1"]), ("defaults", "merge", ["values": []]),
      ("profile", "save", ["companyName": 1]), ("login", "setPassword", ["value": nil]),
      ("workingHistory", "answer", ["prompt": "1"]), ("favoritesTop", "tapFavoritePhoto", ["row": 0.5]),
    ]
    try await ServerFixture.run { users in
      let catalogue = try await users.ask("GET", "/v1/reactors").json
      let phone = try await users.signUp()
      _ = try await phone.patch("/v1/defaults/standard", #"{"a":1}"#)
      for (reactor, type, payload) in cases {
        let item = try Self.item(reactor, in: catalogue)
        let schema = try #require(item["actions"]?.arrayValue?.first { $0["type"] == .string(type) }?["payload"])
        #expect(!DocumentedSchema.faults(payload, schema).isEmpty, "\(reactor) \(type)")
        let action: JSONObject = ["module": .string(reactor), "type": .string(type), "payload": payload]
        let response =
          item["scope"] == "user"
          ? try await phone.post("/v1/actions", "\(JSON.object(["actions": [.object(action)]]))")
          : try await phone.open(reactor).act("\(JSON.object(action))")
        #expect(response.status == 422, "\(reactor) \(type) \(response.text)")
      }
    }
  }

  /// Checks that each type of an item has samples and that they fit its schema.
  private static func check(_ samples: [(type: String, payload: JSON)], _ item: JSON) {
    let described = item["actions"]?.arrayValue ?? []
    #expect(Set(described.compactMap { $0["type"]?.stringValue }) == Set(samples.map(\.type)))
    for (type, payload) in samples {
      let schema = described.first { $0["type"] == .string(type) }?["payload"] ?? .null
      #expect(DocumentedSchema.faults(payload, schema) == [])
    }
  }

  private static func checkState(_ state: JSON?, _ item: JSON) {
    let schema = item["state"] ?? .null
    #expect(DocumentedSchema.faults(state ?? .null, schema) == [])
    let known = Set(schema["properties"]?.objectValue?.names ?? [])
    let unknown = Set(state?.objectValue?.names ?? []).subtracting(known)
    #expect(unknown.isEmpty)
  }
}

/// An upstream that refuses every profile.
private struct RefusingUpstream: ProfileUpstream {
  let reachability = Reachability()

  nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) -> AcceptedProfile {
    throw UpstreamError(.refused(status: 400), detail: "")
  }
}
