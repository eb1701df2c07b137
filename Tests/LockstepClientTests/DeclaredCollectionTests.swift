import LockstepClient
import LockstepClientTesting
import LockstepJSON
import Testing

@Suite("A server in memory has collections that were declared without code", .timeLimit(.minutes(10)))
struct DeclaredCollectionTests {
  @Test("Writes to a declared list and map are shown at once, and faults have their places")
  func writes() throws {
    let fixture = try ClientFixture()
    let song: JSON = ["type": "object", "properties": ["song": ["type": "string", "maxLength": 5]]]
    try fixture.server.declare(["name": "playlist", "kind": "list", "schema": song])
    try fixture.server.declare(["name": "scores", "kind": "map", "schema": ["type": "integer"]])
    let playlist = fixture.client.list("playlist", of: ListEntry<Song>.self)
    let scores = fixture.client.map("scores")
    fixture.server.holdResponses()
    fixture.clock.start {
      _ = try? await playlist.add(ListEntry(id: "a", data: Song(song: "Aria")))
      _ = try? await scores.increment("level1", by: 3)
      _ = try? await playlist.add(ListEntry(id: "b", data: Song(song: "Bolero")))
    }
    fixture.clock.settle()
    #expect(playlist.elements.map(\.id) == ["a", "b"] && scores.value("level1") == 3)
    #expect(fixture.client.status.pending == 3)
    fixture.server.releaseResponses()
    fixture.clock.advance(by: .seconds(60))
    #expect(playlist.elements.map(\.id) == ["a"] && fixture.client.status.pending == 0)
    #expect(fixture.server.json(of: "scores") == ["level1": 3])
    let problem = fixture.client.refusedWrites.first?.failure.problem
    #expect(problem?["errors"]?[0]?["pointer"] == "/actions/0/payload/data/song")
  }

  @Test("Only a backend writes to a collection that is read only")
  func readOnly() throws {
    let fixture = try ClientFixture()
    try fixture.server.declare(["name": "entitlements", "kind": "map", "access": "readOnly"])
    let entitlements = fixture.client.map("entitlements")
    fixture.clock.start { _ = try? await entitlements.set("pro", true) }
    fixture.clock.advance(by: .seconds(1))
    #expect(fixture.client.refusedWrites.map(\.failure.status) == [403] && entitlements.keys == [])
    let grant: JSON = ["module": "entitlements", "type": "set", "payload": ["key": "pro", "value": true]]
    #expect(fixture.server.perform(grant).status == 200)
    fixture.clock.advance(by: .seconds(1))
    #expect(entitlements.value("pro") == true)
  }

  @Test("An invalid declaration is refused with its faults")
  func invalid() throws {
    let server = FakeServer()
    let error = #expect(throws: (any Error).self) { try server.declare(["name": "playlist", "kind": "set"]) }
    #expect(error.map { "\($0)".contains("/kind") } == true)
  }
}
