import LockstepTestSupport
import Testing
import LockstepThreading

@Suite("The fair-share limiter", .timeLimit(.minutes(10)))
struct FairShareLimiterTests {
  /// Blocks work until it opens.
  private final class Door: Sendable {
    private let state = LockedState((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func pass() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  private struct Failed: Error, Equatable {}

  private let shares = FairShareLimiter<String>(name: "test", atOnce: 2, waiting: 3)
  private let begun = LockedState<[String]>([])
  private let door = Door()

  /// Starts work that records its start and waits for the door.
  private func start(_ name: String, for owner: String) -> Task<Void, any Error> {
    Task {
      try await shares.run(for: owner) {
        begun.withLock { $0.append(name) }
        await door.pass()
      }
    }
  }

  private func startWaiting(_ name: String, for owner: String) async -> Task<Void, any Error> {
    let count = shares.waiting(of: owner)
    let task = start(name, for: owner)
    await eventually { shares.waiting(of: owner) == count + 1 }
    return task
  }

  @Test("Work above an owner's limit waits in order, and other owners' work does not wait")
  func share() async throws {
    var tasks = [start("a1", for: "ann")]
    await eventually { begun.withLock { $0.count } == 1 }
    tasks.append(start("a2", for: "ann"))
    await eventually { begun.withLock { $0.count } == 2 }
    for name in ["a3", "a4", "a5"] { tasks.append(await startWaiting(name, for: "ann")) }
    tasks.append(start("b1", for: "bob"))
    await eventually { begun.withLock { $0.count } == 3 }
    #expect(begun.withLock { $0 } == ["a1", "a2", "b1"])
    await #expect(throws: PoolOverloadedError(pool: "test", capacity: 3)) { try await shares.run(for: "ann") {} }
    door.open()
    for task in tasks { try await task.value }
    #expect(Set(begun.withLock { $0 }) == ["a1", "a2", "a3", "a4", "a5", "b1"])
    #expect(shares.waiting(of: "ann") == 0)
  }

  @Test("With a limit of one, work runs in the order of arrival")
  func order() async throws {
    let shares = FairShareLimiter<String>(name: "test", atOnce: 0, waiting: 100)
    let isHere = LockedState(false)
    var tasks = [
      Task {
        try await shares.run(for: "ann") {
          isHere.withLock { $0 = true }
          await door.pass()
        }
      }
    ]
    await eventually { isHere.withLock { $0 } }
    for number in 0..<50 {
      tasks.append(Task { try await shares.run(for: "ann") { begun.withLock { $0.append("\(number)") } } })
      await eventually { shares.waiting(of: "ann") == number + 1 }
    }
    door.open()
    for task in tasks { try await task.value }
    #expect(begun.withLock { $0 } == (0..<50).map { "\($0)" })
  }

  @Test("A cancelled waiter never runs; the next one does")
  func cancellation() async throws {
    var tasks = [start("a1", for: "ann"), start("a2", for: "ann")]
    await eventually { begun.withLock { $0.count } == 2 }
    let gone = await startWaiting("gone", for: "ann")
    tasks.append(await startWaiting("a3", for: "ann"))
    gone.cancel()
    await #expect(throws: CancellationError.self) { try await gone.value }
    #expect(shares.waiting(of: "ann") == 1)
    // A task that was cancelled before does not wait.
    let late = start("late", for: "ann")
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    // Work that has begun finishes.
    tasks[0].cancel()
    door.open()
    for task in tasks { try await task.value }
    #expect(begun.withLock { Set($0) } == ["a1", "a2", "a3"])
  }

  @Test("Lifting the limit starts all waiting work, even if it is cancelled")
  func lifted() async throws {
    var tasks = [start("a1", for: "ann")]
    await eventually { begun.withLock { $0.count } == 1 }
    tasks.append(start("a2", for: "ann"))
    await eventually { begun.withLock { $0.count } == 2 }
    for name in ["a3", "a4"] { tasks.append(await startWaiting(name, for: "ann")) }
    shares.lift()
    for task in tasks { task.cancel() }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await shares.run(for: "ann") { begun.withLock { $0.append("a5") } }
    }
    try await cancelled.value
    await eventually { begun.withLock { $0.count } == 5 }
    door.open()
    for task in tasks { try await task.value }
    #expect(Set(begun.withLock { $0 }) == ["a1", "a2", "a3", "a4", "a5"])
  }

  @Test("Failed work frees its place")
  func failure() async throws {
    for _ in 1...5 {
      await #expect(throws: Failed()) { try await shares.run(for: "ann") { throw Failed() } }
    }
    #expect(try await shares.run(for: "ann") { 7 } == 7)
  }

  @Test("With a limit for all owners, an owner and a network get half of the places that others leave")
  func inAll() async throws {
    let shares = FairShareLimiter<String>(name: "test", atOnce: 2, inAll: 16)
    var tasks: [Task<Void, any Error>] = []
    /// Starts as much work as the owner gets places for, and returns how much that is.
    func fill(_ owner: String, from network: Int?) async -> Int {
      let refused = LockedState(0)
      let before = begun.withLock { $0.count } + shares.waitingCount
      let started = (0..<16).map { _ in
        Task {
          do {
            try await shares.run(for: owner, from: network) {
              begun.withLock { $0.append(owner) }
              await door.pass()
            }
          } catch let error as PoolOverloadedError {
            #expect(error == PoolOverloadedError(pool: "test", capacity: 16))
            refused.withLock { $0 += 1 }
          }
        }
      }
      await eventually {
        begun.withLock { $0.count } + shares.waitingCount - before + refused.withLock { $0 } == started.count
      }
      tasks += started
      return started.count - refused.withLock { $0 }
    }
    #expect(await fill("ann", from: 1) == 4)
    #expect(await fill("ben", from: 1) == 2)
    #expect(await fill("cem", from: 1) == 1)
    #expect(await fill("dan", from: 1) == 1)
    #expect(await fill("eve", from: 1) == 0)
    #expect(await fill("fay", from: 2) == 2)
    #expect(await fill("gus", from: nil) == 3)
    door.open()
    for task in tasks { try await task.value }
    shares.waitUntilIdle(atMost: .max / 2)
    #expect(try await shares.run(for: "eve", from: 1) { 7 } == 7)
  }
}
