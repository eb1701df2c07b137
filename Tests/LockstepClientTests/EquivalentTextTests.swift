import LockstepClientTesting
import LockstepCollections
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Testing

@testable import LockstepClient

/// Texts that are equal in Swift, because Unicode considers them equal, but not on the server.
@Suite("Texts in two encodings on a client", .timeLimit(.minutes(10)))
struct EquivalentTextTests {
  private static let pair = ("jos\u{E9}", "jose\u{301}")

  @Test("A value in another encoding is a new value for the app")
  func values() throws {
    let fixture = try ClientFixture()
    let (first, other) = Self.pair
    let (seen, titles, objects) = (Recorded<[UInt8]>(), Recorded<[UInt8]>(), Recorded<[UInt8]>())
    let profile = fixture.client.profile
    fixture.clock.start { [settings = fixture.settings] in
      for await value in settings.values(of: "name", as: String.self) { seen.set(Array((value ?? "").utf8)) }
    }
    fixture.clock.start { [photos = fixture.photos] in
      for await update in photos.updates {
        for change in update.changeset.modifications { titles.set(Array((change.element.title ?? "").utf8)) }
      }
    }
    fixture.clock.start { [profile] in
      for await value in profile.values { objects.set(Array((value?.position ?? "").utf8)) }
    }
    fixture.add("a", title: first)
    for text in [first, other, first] {
      fixture.server.perform(
        ["module": "defaults", "type": "set", "payload": ["key": "name", "value": .string(text)]],
        ["module": "favorites", "type": "update", "payload": ["id": "a", "title": .string(text)]],
        ["module": "profile", "type": "save", "payload": ["position": .string(text)]]
      )
      fixture.clock.advance(by: .milliseconds(20))
      #expect(seen.value == Array(text.utf8) && objects.value == Array(text.utf8))
      #expect(fixture.photos.elements.first?.title.map { Array($0.utf8) } == Array(text.utf8))
    }
    #expect(titles.value == Array(first.utf8))
  }

  @Test("Elements whose ids look alike are two elements, also in the outbox and in a fake server")
  func elements() throws {
    let fixture = try ClientFixture()
    let (first, other) = Self.pair
    fixture.server.goOffline()
    fixture.add(first, title: "first")
    fixture.add(other, title: "other")
    #expect(fixture.photos.elements.count == 2)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.server.json(of: "favorites").arrayValue?.map { $0["id"] } == [.string(first), .string(other)])
    fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.remove(first) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.ids.map { Array($0.utf8) } == [Array(other.utf8)])
  }

  @Test("Actions about two elements whose ids look alike do not overlap")
  func overlaps() {
    func action(_ id: String) -> ClientAction {
      ClientAction(module: "favorites", type: "remove", payload: ["id": .string(id)])
    }
    let (first, other) = (action(Self.pair.0), action(Self.pair.1))
    #expect(first.overlaps(first) && !first.overlaps(other) && first != other)
  }

  @Test("A fake server treats writes whose keys look alike as two writes")
  func keys() async throws {
    let server = FakeServer(clock: VirtualClock())
    for (index, key) in [Self.pair.0, Self.pair.1].enumerated() {
      let body: JSON = ["actions": [["module": "favorites", "type": "add", "payload": ["id": .string("\(index)")]]]]
      let fields = ["Authorization": "Bearer token", "Idempotency-Key": key]
      _ = try await server.response(
        to: ClientRequest(method: "POST", target: "/v1/actions", fields: fields, body: body.encoded())
      )
    }
    #expect(server.json(of: "favorites").arrayValue?.count == 2)
  }
}
