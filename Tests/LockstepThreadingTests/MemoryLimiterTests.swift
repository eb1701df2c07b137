import LockstepTestSupport
import LockstepThreading
import Testing

@Suite("The limiter of memory", .timeLimit(.minutes(10)))
struct MemoryLimiterTests {
  private let memory = MemoryLimiter<String>(name: "test", limit: 100, share: 50, waiting: 2)
  /// The memory in use, by the name of the work that has reserved it, in order.
  private let held = LockedState<[(name: String, memory: MemoryLimiter<String>.Reservation)]>([])

  private var names: [String] { held.withLock { $0.map(\.name) } }

  private func hold(_ name: String, _ bytes: Int, for owner: String) async throws {
    let reservation = try await memory.reserve(bytes, for: owner)
    held.withLock { $0.append((name, reservation)) }
  }

  /// Starts work that waits for memory.
  private func startWaiting(_ name: String, _ bytes: Int, for owner: String) async -> Task<Void, any Error> {
    let count = memory.waitingCount
    let task = Task { try await hold(name, bytes, for: owner) }
    await eventually { memory.waitingCount == count + 1 }
    return task
  }

  private func release(_ name: String) {
    // Outside of the lock, because the release starts other work.
    let released = held.withLock { held in held.firstIndex { $0.name == name }.map { held.remove(at: $0) } }
    withExtendedLifetime(released) {}
  }

  @Test("Work beyond an owner's share waits in order, and the work of other owners does not wait")
  func share() async throws {
    try await hold("a", 40, for: "ann")
    #expect(memory.reserveNow(20, for: "ann") == nil)
    let tasks = [await startWaiting("a1", 20, for: "ann"), await startWaiting("a2", 5, for: "ann")]
    #expect(memory.reserveNow(5, for: "ann") == nil, "it would overtake")
    await #expect(throws: PoolOverloadedError(pool: "test", capacity: 2)) {
      _ = try await memory.reserve(5, for: "ann")
    }
    #expect(memory.reserveNow(50, for: "ben") != nil)
    #expect(memory.reserved == 40)
    release("a")
    for task in tasks { try await task.value }
    #expect(memory.reserved == 25)
  }

  @Test("When all memory is in use, the owners take turns, and work that needs less memory does not overtake")
  func turns() async throws {
    try await hold("x", 50, for: "x")
    try await hold("y", 50, for: "y")
    let first = await startWaiting("a1", 30, for: "ann")
    let second = await startWaiting("a2", 20, for: "ann")
    let other = await startWaiting("b", 50, for: "ben")
    release("x")
    try await first.value
    // The memory that is left would suffice for Ann's next work, but it is Ben's turn.
    #expect(memory.reserved == 80 && memory.waitingCount == 2)
    #expect(memory.reserveNow(5, for: "cid") == nil, "it would overtake")
    release("y")
    try await other.value
    try await second.value
    #expect(memory.reserved == 100 && memory.waitingCount == 0)
    for name in ["a1", "a2", "b"] { release(name) }
    #expect(memory.reserved == 0)
  }

  @Test("Work that needs more than a share counts as a whole share")
  func more() async throws {
    try await hold("a", 1_000, for: "ann")
    #expect(memory.reserved == 50)
    #expect(memory.reserveNow(1, for: "ann") == nil)
  }

  @Test(
    "A cancelled task leaves the queue, and those behind it go on, unless the limiter drains",
    arguments: [false, true]
  )
  func cancelled(isDraining: Bool) async throws {
    try await hold("a", 40, for: "ann")
    let long = await startWaiting("long", 20, for: "ann")
    let short = await startWaiting("short", 10, for: "ann")
    if isDraining { memory.drain() }
    long.cancel()
    if isDraining {
      #expect(memory.waitingCount == 2)
      release("a")
      try await long.value
      try await short.value
      #expect(Set(names) == ["long", "short"])
    } else {
      await #expect(throws: CancellationError.self) { try await long.value }
      try await short.value
      #expect(Set(names) == ["a", "short"])
    }
    #expect(memory.waitingCount == 0)
  }
}
