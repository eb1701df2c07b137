import LockstepClient
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepServerTesting
import Testing

private let administrator = "administrator-token-of-32-characters"

@Suite("The Swift client with collections that were declared without code", .timeLimit(.minutes(10)))
struct DeclaredCollectionTests {
  private struct Song: Codable, Equatable, Sendable {
    var song: String
    var stars: Int?
  }

  private typealias Entry = ListEntry<Song>

  private static let playlist: JSON = [
    "kind": "list",
    "schema": [
      "type": "object", "required": ["song"], "additionalProperties": false,
      "properties": ["song": ["type": "string"], "stars": ["type": "integer", "maximum": 5]],
    ],
  ]
  private static let scores: JSON = ["kind": "map", "schema": ["type": "integer", "minimum": 0]]

  /// A server with declared collections, and a client of Ada that runs.
  private struct Fixture {
    let server: ServerInProcess
    let token: String
    let client: LockstepClient
    let playlist: SyncedList<Entry>
    let scores: SyncedMap

    init(_ server: ServerInProcess) throws {
      self.server = server
      token = try server.token(of: "ada@example.com")
      client = try server.makeClient(for: "ada@example.com")
      (playlist, scores) = (client.list("playlist", of: Entry.self), client.map("scores"))
      try declare("playlist", DeclaredCollectionTests.playlist)
      try declare("scores", DeclaredCollectionTests.scores)
    }

    static func run(_ body: (Fixture) throws -> Void) throws {
      try ServerInProcess.run(configure: { $0.administratorToken = administrator }) { server in
        try body(Fixture(server))
      }
    }

    func declare(_ name: String, _ declaration: JSON) throws {
      let response = try server.send("PUT", "/v1/admin/collections/\(name)", declaration, token: administrator)
      #expect([200, 201].contains(response.status))
    }

    /// Runs writes without a network until a time.
    func offline(until end: Int, _ write: @escaping @Sendable () async throws -> Void) {
      server.goOffline()
      server.clock.start {
        do { try await write() } catch { Issue.record(error) }
      }
      server.scheduler.advance(to: end)
    }

    /// Runs writes and the client for some time. The result is the task of the client.
    @discardableResult
    func write(_ write: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
      server.clock.start {
        do { try await write() } catch { Issue.record(error) }
      }
      let running = server.clock.start { [client] in await client.run() }
      server.scheduler.advance(to: server.scheduler.time + 10)
      return running
    }

    func online(until end: Int) {
      server.goOnline()
      server.scheduler.advance(to: end)
    }

    var lines: [String] { playlist.elements.map { "\($0.id) \($0.title ?? "-") \($0.data?.stars ?? 0)" } }

    func value(_ key: String) -> Int? { scores.value(key) }

    /// A response of the server, such as to `/v1/playlist`.
    func stored(_ path: String) throws -> JSON { try JSON(parsing: server.send("GET", path, token: token).body) }
  }

  @Test("Offline writes to a declared list are shown at once, and the server accepts them")
  func list() throws {
    try Fixture.run { fixture in
      fixture.write {}
      fixture.offline(until: 20) { [list = fixture.playlist] in
        try await list.add(Entry(id: "a", title: "Aria", data: Song(song: "A")))
        try await list.add(Entry(id: "b", data: Song(song: "B", stars: 1)), at: 0)
        try await list.add(Entry(id: "c", data: Song(song: "C")))
        try await list.update("b", with: ["title": "Bolero"])
        try await list.update("b", with: ["data": ["stars": 5]])
        try await list.move("a", to: 2)
        try await list.toggle(Entry(id: "d", data: Song(song: "D")))
        try await list.toggle(Entry(id: "c", data: Song(song: "C")))
        try await list.remove("d")
      }
      let shown = ["b Bolero 5", "a Aria 0"]
      #expect(fixture.lines == shown && fixture.client.status.pending == 9)
      fixture.online(until: 200)
      #expect(fixture.lines == shown && fixture.client.status.pending == 0 && fixture.client.refusedWrites.isEmpty)
      let stored = try fixture.stored("/v1/playlist")["items"]?.arrayValue ?? []
      #expect(stored.map { $0["id"] } == ["b", "a"] && stored.first?["data"]?["stars"] == 5)
    }
  }

  @Test("Offline writes to a declared map are shown at once, and another device gets them")
  func map() throws {
    try Fixture.run { fixture in
      fixture.write {}
      let other = try fixture.server.makeClient(for: "ada@example.com")
      let seen = other.map("scores")
      fixture.server.clock.start { await other.run() }
      fixture.offline(until: 20) { [map = fixture.scores] in
        try await map.set("level1", 300)
        try await map.increment("level1", by: 50)
        try await map.merge(["level2": 7, "level3": 8])
        try await map.remove("level3")
        try await map.increment("level4")
      }
      #expect(fixture.scores.keys == ["level1", "level2", "level4"] && fixture.value("level1") == 350)
      fixture.online(until: 200)
      #expect(fixture.client.status.pending == 0 && fixture.client.refusedWrites.isEmpty)
      #expect(seen.keys == ["level1", "level2", "level4"] && seen.value("level1") == 350)
      fixture.offline(until: 210) { [map = fixture.scores] in try await map.clear() }
      #expect(fixture.scores.keys == [])
      fixture.online(until: 400)
      #expect(seen.keys == [])
    }
  }

  @Test("Lists and maps that are cleared before the client has a copy begin with the cleared value")
  func cleared() throws {
    try Fixture.run { fixture in
      fixture.offline(until: 20) { [list = fixture.playlist, map = fixture.scores] in
        try await list.clear()
        try await map.clear()
        try await list.add(Entry(id: "a", data: Song(song: "A")))
        try await map.set("level1", 1)
        try await list.clear()
        try await map.clear()
        try await list.add(Entry(id: "b", data: Song(song: "B")))
        try await map.set("level2", 2)
      }
      #expect(fixture.lines == ["b - 0"] && fixture.scores.keys == ["level2"])
      fixture.server.goOnline()
      fixture.write {}
      #expect(fixture.lines == ["b - 0"] && fixture.scores.keys == ["level2"])
      #expect(fixture.client.refusedWrites.isEmpty)
    }
  }

  @Test("A write that does not match the schema is refused with the place of each fault, and not shown any more")
  func schema() throws {
    try Fixture.run { fixture in
      fixture.write {}
      fixture.offline(until: 20) { [list = fixture.playlist, map = fixture.scores] in
        try await list.add(Entry(id: "a", data: Song(song: "A", stars: 9)))
        try await map.set("level1", -1)
        try await map.increment("level2", by: -2)
      }
      #expect(fixture.lines == ["a - 9"] && fixture.value("level1") == -1 && fixture.value("level2") == -2)
      fixture.online(until: 200)
      #expect(fixture.lines == [] && fixture.scores.keys == [])
      let pointers = fixture.client.refusedWrites.map { write in
        (write.failure.problem?["errors"]?.arrayValue ?? []).compactMap { $0["pointer"]?.stringValue }
      }
      #expect(
        pointers == [
          ["/actions/0/payload/data/stars"], ["/actions/0/payload/value"], ["/actions/0/payload/by"],
        ]
      )
      #expect(fixture.client.refusedWrites.map(\.failure.status) == [422, 422, 422])
    }
  }

  @Test("A user's write to a collection that is read only is refused, and a backend's writes are shown")
  func readOnly() throws {
    try Fixture.run { fixture in
      fixture.write {}
      try fixture.declare("entitlements", ["kind": "map", "access": "readOnly"])
      let entitlements = fixture.client.map("entitlements")
      fixture.server.clock.start { _ = try? await entitlements.set("platinum", true) }
      fixture.server.scheduler.advance(to: 20)
      #expect(fixture.client.refusedWrites.map(\.failure.status) == [403] && entitlements.keys == [])
      let user = try fixture.stored("/v1/me")["id"]?.stringValue ?? ""
      let path = "/v1/admin/users/\(user)/entitlements/pro"
      #expect(try fixture.server.send("PUT", path, true, token: administrator).status == 201)
      fixture.server.scheduler.advance(to: 30)
      #expect(entitlements.value("pro") == true)
    }
  }

  @Test("If a collection is deleted, its pending writes are refused, and no device shows its elements any more")
  func deleted() throws {
    try Fixture.run { fixture in
      let (server, client) = (fixture.server, fixture.client)
      let running = fixture.write { [list = fixture.playlist, map = fixture.scores] in
        try await list.add(Entry(id: "a", data: Song(song: "A")))
        try await map.set("level1", 1)
      }
      #expect(fixture.lines == ["a - 0"] && client.status.pending == 0)
      running.cancel()
      server.clock.start { [list = fixture.playlist, map = fixture.scores] in
        _ = try? await list.add(Entry(id: "b", data: Song(song: "B")))
        _ = try? await map.set("level2", 2)
      }
      server.clock.settle()
      let path = "/v1/admin/collections/playlist?erase=true"
      #expect(try server.send("DELETE", path, token: administrator).status == 204)
      #expect(fixture.lines == ["a - 0", "b - 0"])
      fixture.write {}
      #expect(fixture.lines == [] && fixture.scores.keys == ["level1", "level2"])
      #expect(client.status.connection == .live && client.status.pending == 0)
      let refused = try #require(client.refusedWrites.first)
      #expect(refused.failure.status == 422)
      #expect(refused.failure.problem?["errors"]?[0]?["pointer"] == "/actions/0/module")

      // When the collection is declared again, the app can retry the write.
      try fixture.declare("playlist", Self.playlist)
      server.clock.start { _ = try? await client.retry(refused) }
      server.scheduler.advance(to: server.scheduler.time + 10)
      #expect(fixture.lines == ["b - 0"] && client.refusedWrites.isEmpty)
    }
  }

  @Test("A client that did not run while a list became a map, and a map became a list, shows the present kind")
  func otherKind() throws {
    try Fixture.run { fixture in
      let server = fixture.server
      let running = fixture.write { [list = fixture.playlist, map = fixture.scores] in
        try await list.add(Entry(id: "a", data: Song(song: "A")))
        try await map.set("level1", 1)
      }
      running.cancel()
      server.clock.settle()
      for (name, kind) in [("playlist", "map"), ("scores", "list")] {
        let path = "/v1/admin/collections/\(name)?erase=true"
        #expect(try server.send("DELETE", path, token: administrator).status == 204)
        try fixture.declare(name, ["kind": .string(kind)])
        let body: JSON = kind == "map" ? 1 : ["title": "B"]
        #expect(try server.send("PUT", "/v1/\(name)/b", body, token: fixture.token).status == 201)
      }
      let (map, list) = (fixture.client.map("playlist"), fixture.client.list("scores", of: Entry.self))
      fixture.write {}
      #expect(map.value("b") == 1 && list.elements.map(\.title) == ["B"])
      #expect(fixture.lines == [] && fixture.scores.keys == [])
      fixture.write {
        try await map.increment("b")
        try await list.move("b", to: 0)
      }
      #expect(map.value("b") == 2 && fixture.client.refusedWrites.isEmpty)
    }
  }

  @Test("After random writes on two devices, both show what the server has", arguments: 1...8)
  func random(_ seed: UInt64) throws {
    try Fixture.run { fixture in
      fixture.write {}
      let server = fixture.server
      let other = try server.makeClient(for: "ada@example.com")
      let (list, map) = (other.list("playlist", of: Entry.self), other.map("scores"))
      server.clock.start { await other.run() }
      server.scheduler.advance(to: 2)
      for round in 1...4 {
        for (device, playlist, scores) in [(UInt64(1), fixture.playlist, fixture.scores), (2, list, map)] {
          var random = RandomNumbers(seed: seed &* 1_000 &+ UInt64(round) &* 10 &+ device)
          let writes = (0..<12).map { _ in RandomWrite(&random) }
          fixture.offline(until: server.scheduler.time + 5) {
            for write in writes { try await write.perform(playlist, scores) }
          }
        }
        fixture.online(until: server.scheduler.time + 200)
        for client in [fixture.client, other] {
          #expect(client.status.pending == 0)
          // An element may be gone, because the other device has removed it.
          #expect(client.refusedWrites.allSatisfy { $0.failure.status == 404 })
        }
        let items = try fixture.stored("/v1/playlist")["items"]?.arrayValue ?? []
        #expect(fixture.playlist.elements.map(\.id) == items.map { $0["id"]?.stringValue ?? "" })
        #expect(fixture.playlist.elements == list.elements)
        let values = try fixture.stored("/v1/scores")["values"]?.objectValue ?? JSONObject()
        #expect(scoresText(fixture.scores) == JSON.object(values).description)
        #expect(scoresText(map) == JSON.object(values).description)
      }
    }
  }

  private func scoresText(_ map: SyncedMap) -> String {
    var object = JSONObject()
    for key in map.keys { object[key] = map.value(key, as: Int.self).map { JSON($0) } }
    return JSON.object(object).description
  }

  private struct RandomNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ limit: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(limit))
    }
  }

  private struct RandomWrite: Sendable {
    let (kind, id, number): (Int, String, Int)

    init(_ random: inout RandomNumbers) {
      (kind, id, number) = (random.below(11), "e\(random.below(6))", random.below(6))
    }

    func perform(_ list: SyncedList<Entry>, _ map: SyncedMap) async throws {
      let entry = Entry(id: id, title: "t\(number)", data: Song(song: "s", stars: number % 6))
      switch kind {
      case 0, 1: try await list.add(entry, at: number)
      case 2: try await list.add(entry)
      case 3: try await list.update(id, with: ["title": "u\(number)"])
      case 4: try await list.move(id, to: number)
      case 5: try await list.remove(id)
      case 6: try await list.toggle(entry)
      case 7: try await map.set(id, number)
      case 8: try await map.increment(id, by: number)
      case 9: try await map.merge([id: number, "both": number])
      default: try await map.remove(id)
      }
    }
  }
}
