import LockstepClientTesting
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepClient

struct Photo: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String?
}

/// A client and a server on a clock that only the test moves.
struct ClientFixture {
  let clock = VirtualClock()
  let server: FakeServer
  let client: LockstepClient
  let photos: SyncedList<Photo>
  let settings: SyncedMap

  init(token: String? = "token") throws {
    server = FakeServer(clock: clock)
    client = try LockstepClient(
      store: .memory,
      transport: server,
      credentials: MemoryCredentials(token),
      clock: clock
    )
    photos = client.list(of: Photo.self)
    settings = client.defaults()
    clock.start { [client] in await client.run() }
    clock.advance(by: .milliseconds(20))
  }

  func add(_ id: String, title: String? = nil) {
    clock.start { [photos] in _ = try? await photos.add(Photo(id: id, title: title)) }
    clock.advance(by: .milliseconds(20))
  }

  var ids: [String] { photos.elements.map(\.id) }
}

@Suite("Following a server, and writing", .timeLimit(.minutes(2)))
struct FollowingTests {
  @Test("A change of another device is shown")
  func following() throws {
    let fixture = try ClientFixture()
    #expect(fixture.client.status.connection == .live && fixture.client.status.isReady)
    fixture.server.perform(["module": "favorites", "type": "add", "payload": ["id": "a", "title": "Aurora"]])
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.photos.elements == [Photo(id: "a", title: "Aurora")])
  }

  @Test("A sequence of values goes on without a reference to its map")
  func sequenceAlone() throws {
    let fixture = try ClientFixture()
    let value = Recorded<String>()
    fixture.clock.start { [client = fixture.client] in
      for await theme in client.defaults().values(of: "theme", as: String.self) { if let theme { value.set(theme) } }
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.perform([
      "module": "defaults", "type": "set", "payload": ["key": "theme", "value": "dark"],
    ])
    fixture.clock.advance(by: .milliseconds(20))
    #expect(value.value == "dark")
  }

  @Test("A write is shown at once, and reaches the server when there is a network")
  func offline() throws {
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.status.connection == .offline)
    fixture.add("a")
    #expect(fixture.ids == ["a"] && fixture.client.status.pending == 1)
    #expect(fixture.server.json(of: "favorites") == .null)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.status.connection == .live && fixture.client.status.pending == 0)
    #expect(fixture.server.json(of: "favorites").arrayValue?.count == 1)
    #expect(fixture.ids == ["a"])
  }

  @Test("A write whose response was lost is applied once")
  func lostResponse() throws {
    let fixture = try ClientFixture()
    fixture.server.loseNextResponse()
    fixture.clock.start { [settings = fixture.settings] in _ = try? await settings.increment("opened") }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.server.json(of: "defaults/standard") == ["opened": 1])
    #expect(fixture.settings.value("opened", as: Int.self) == 1)
    #expect(fixture.client.status.pending == 0)
  }
}
