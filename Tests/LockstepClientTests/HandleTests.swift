import Foundation
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Testing

@testable import LockstepClient

@Suite("Handles of writes, and clients that are released", .timeLimit(.minutes(10)))
struct HandleTests {
  @Test("A write of another client is not cancelled, although it has the same number")
  func otherWrite() throws {
    let (mine, other) = (try ClientFixture(), try ClientFixture())
    let cancelled = Recorded<Bool>()
    for fixture in [mine, other] { fixture.server.goOffline() }
    mine.add("a")
    other.clock.start { [settings = other.settings, client = mine.client] in
      if let write = try? await settings.set("theme", "dark") {
        cancelled.set((try? await client.cancel(write)) ?? true)
      }
    }
    other.clock.advance(by: .milliseconds(20))
    #expect(cancelled.value == false && mine.ids == ["a"] && mine.client.status.pending == 1)
  }

  @Test("A refused write of another client is neither sent again nor dismissed")
  func otherRefusal() throws {
    let (mine, other) = (try ClientFixture(), try ClientFixture())
    for (fixture, id) in [(mine, "a"), (other, "b")] {
      fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.move(id, to: 0) }
      fixture.clock.advance(by: .milliseconds(20))
      #expect(fixture.client.refusedWrites.count == 1)
    }
    let retried = Recorded<Bool>()
    mine.clock.start { [client = mine.client, theirs = other.client.refusedWrites[0]] in
      try? await client.dismiss(theirs)
      retried.set((try? await client.retry(theirs)) != nil)
    }
    mine.clock.advance(by: .milliseconds(20))
    #expect(retried.value == false && mine.client.refusedWrites.count == 1)
  }

  @Test("A view may ask for a collection each time it is drawn")
  func manyViews() throws {
    let fixture = try ClientFixture()
    var kept: [SyncedMap] = []
    for number in 0..<10_000 {
      let map = fixture.client.defaults()
      if number % 100 == 0 { kept.append(map) }
    }
    #expect(fixture.client.collectionCount <= 2 * (kept.count + 2))
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "theme", "value": "dark"]])
    fixture.clock.advance(by: .milliseconds(20))
    #expect(kept.allSatisfy { $0.value("theme") == "dark" })
  }

  @Test("More rows than a write can have are removed with several writes")
  func manyRows() throws {
    let fixture = try ClientFixture()
    for first in stride(from: 0, to: 1_200, by: 400) {
      fixture.clock.start { [client = fixture.client, photos = fixture.photos] in
        _ = try? await client.perform { write in
          for number in first..<first + 400 { try write.add(Photo(id: "p\(number)"), in: photos) }
        }
      }
      fixture.clock.advance(by: .milliseconds(20))
    }
    #expect(fixture.photos.elements.count == 1_200)
    fixture.clock.start { [photos = fixture.photos] in
      _ = try? await photos.remove(atOffsets: IndexSet(0..<1_199), of: photos.elements)
    }
    fixture.clock.advance(by: .seconds(1))
    #expect(fixture.ids == ["p1199"] && fixture.server.json(of: "favorites").arrayValue?.count == 1)
  }

  @Test("A sequence of statuses, and the wait for a write, end when the client is released")
  func releasing() throws {
    let clock = VirtualClock()
    var client: LockstepClient? = try LockstepClient(store: .memory, transport: FakeServer(clock: clock), clock: clock)
    let (statuses, wait, write) = (Recorded<Bool>(), Recorded<Bool>(), Recorded<PendingWrite>())
    clock.start { [client] in
      if let client, let pending = try? await client.defaults().set("theme", "dark") { write.set(pending) }
    }
    if let values = client?.statuses {
      clock.start {
        for await _ in values {}
        statuses.set(true)
      }
    }
    clock.settle()
    clock.start { [pending = write.value] in
      do { _ = try await pending?.confirmed } catch { wait.set(error is CancellationError) }
    }
    clock.settle()
    #expect(statuses.value == nil && wait.value == nil && write.value != nil)
    client = nil
    clock.settle()
    #expect(statuses.value == true && wait.value == true)
  }
}
