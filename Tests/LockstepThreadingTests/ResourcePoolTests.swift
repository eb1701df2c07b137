import Testing
import LockstepThreading

@Suite("Resource pools", .timeLimit(.minutes(10)))
struct ResourcePoolTests {
  /// Not `Sendable`: only its thread may touch it.
  private final class Resource {
    let number: Int
    var uses = 0
    private let events: LockedState<[String]>

    init(number: Int, events: LockedState<[String]>) {
      self.number = number
      self.events = events
      events.withLock { $0.append("made") }
    }

    deinit {
      events.withLock { $0.append("gone") }
    }
  }

  private func pool(threads: Int, events: LockedState<[String]>) throws -> ResourcePool<Resource> {
    let made = LockedState(0)
    return try ResourcePool(name: "test", threads: threads, capacity: 100) {
      let number = made.withLock { made in
        made += 1
        return made
      }
      return Resource(number: number, events: events)
    }
  }

  @Test("A thread makes its resource for its first work, and releases it at shutdown")
  func lifetime() async throws {
    let events = LockedState<[String]>([])
    let pool = try pool(threads: 1, events: events)
    #expect(events.withLock { $0 } == [])
    for use in 1...3 {
      let uses = try await pool.run { resource in
        resource.uses += 1
        return resource.uses
      }
      #expect(uses == use)
    }
    #expect(events.withLock { $0 } == ["made"])
    pool.shutDown()
    #expect(events.withLock { $0 } == ["made", "gone"])
  }

  @Test("No two threads share a resource")
  func own() async throws {
    let events = LockedState<[String]>([])
    let pool = try pool(threads: 3, events: events)
    let uses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 1...90 {
        group.addTask {
          try await pool.run { resource in
            resource.uses += 1
            return resource.number
          }
        }
      }
      return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    #expect(uses.values.reduce(0, +) == 90)
    #expect(events.withLock { $0.count } == uses.count)
    pool.shutDown()
    #expect(events.withLock { $0.count } == 2 * uses.count)
  }

  @Test("A pool without work has no resources")
  func unused() throws {
    let events = LockedState<[String]>([])
    try pool(threads: 2, events: events).shutDown()
    #expect(events.withLock { $0 } == [])
  }
}
