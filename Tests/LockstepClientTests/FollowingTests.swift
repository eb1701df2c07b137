import LockstepClientTesting
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepClient

@Suite("Following a server, and writing", .timeLimit(.minutes(10)))
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

  @Test("A member that the type does not have is no change")
  func unknownMember() throws {
    let fixture = try ClientFixture()
    let changes = Recorded<[String]>()
    fixture.clock.start { [photos = fixture.photos] in
      var all: [String] = []
      for await update in photos.updates {
        let change = update.changeset
        all.append("\(change.insertions.count) inserted, \(change.modifications.count) modified")
        changes.set(all)
      }
    }
    fixture.server.goOffline()
    fixture.add("a", title: "Aurora")
    fixture.clock.advance(by: .seconds(30))
    fixture.server.goOnline()
    // The server sets the time of the write, which differs from the one on the device.
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.status.pending == 0)
    fixture.server.perform(["module": "favorites", "type": "update", "payload": ["id": "a", "data": 1]])
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.perform(["module": "favorites", "type": "update", "payload": ["id": "a", "title": "Geyser"]])
    fixture.clock.advance(by: .milliseconds(20))
    #expect(changes.value == ["0 inserted, 0 modified", "1 inserted, 0 modified", "0 inserted, 1 modified"])
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

  @Test("A client that follows a stream gets many changes with one request")
  func stream() throws {
    let (clock, server) = (VirtualClock(), FakeServer(clock: VirtualClock()))
    let client = try LockstepClient(
      store: .memory,
      transport: server,
      credentials: MemoryCredentials("token"),
      following: .events,
      clock: clock
    )
    let photos = client.list(of: Photo.self)
    clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    #expect(client.status.connection == .live)
    for number in 1...10 {
      server.perform(["module": "favorites", "type": "add", "payload": ["id": .string("\(number)")]])
      clock.advance(by: .milliseconds(20))
    }
    #expect(photos.elements.count == 10)
    #expect(server.requests.count { $0.target.hasPrefix("/v1/changes") } == 1)
    server.goOffline()
    clock.advance(by: .milliseconds(20))
    #expect(client.status.connection == .offline)
    server.goOnline()
    clock.advance(by: .seconds(60))
    #expect(client.status.connection == .live)
  }

  @Test("If a stream sends nothing for 45 seconds, the client opens another one")
  func silence() throws {
    let (clock, streams) = (VirtualClock(), Recorded<Int>())
    let transport = SilentTransport { streams.set((streams.value ?? 0) + 1) }
    let credentials = MemoryCredentials("token")
    let client = try LockstepClient(
      store: .memory,
      transport: transport,
      credentials: credentials,
      following: .events,
      clock: clock
    )
    clock.start { await client.run() }
    clock.advance(by: .seconds(44))
    #expect(streams.value == 1 && client.status.connection == .live)
    clock.advance(by: .seconds(2))
    #expect(streams.value == 2)
  }

  @Test("A stream may be split anywhere")
  func parsing() throws {
    let text = ": comment\n\nevent: changes\nid: 1\ndata: {\"a\":1}\n\ndata:two\r\ndata: lines\r\n\r\n"
    for cut in 0...text.utf8.count {
      var parser = EventParser()
      let bytes = Array(text.utf8)
      let events = try parser.read(Array(bytes[..<cut])) + parser.read(Array(bytes[cut...]))
      #expect(events.map { String(decoding: $0, as: UTF8.self) } == ["{\"a\":1}", "two\nlines"])
    }
  }
}

/// A server that accepts a stream and sends nothing.
private struct SilentTransport: StreamingTransport {
  let onStream: @Sendable () -> Void

  func response(to request: ClientRequest) async throws -> ClientResponse {
    ClientResponse(status: 200, body: Array(#"{"id":"ada"}"#.utf8))
  }

  func stream(of request: ClientRequest) async throws -> ClientStream {
    onStream()
    let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    continuation.onTermination = { _ in }
    return ClientStream(response: ClientResponse(status: 200), parts: parts)
  }
}
