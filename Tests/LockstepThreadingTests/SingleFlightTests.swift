import LockstepTestSupport
import Testing
import LockstepThreading

@Suite("Single flight", .timeLimit(.minutes(10)))
struct SingleFlightTests {
  private struct Failed: Error, Equatable {}

  private let flights = SingleFlight<String, Int, any Error>()
  /// How many times the work has run.
  private let runs = LockedState(0)
  /// Set while the work waits in `work()`.
  private let waitingWork = LockedState<CheckedContinuation<Void, any Error>?>(nil)

  /// Waits until the test calls `finishWork(_:)`, and returns the number of the run.
  private func work() async throws -> Int {
    try await withCheckedThrowingContinuation { continuation in
      runs.withLock { $0 += 1 }
      waitingWork.withLock { $0 = continuation }
    }
    return runs.withLock { $0 }
  }

  private func start(_ keep: @escaping @Sendable (Int) -> Int = { $0 }) -> Task<Int, any Error> {
    Task { try await flights.value(of: "key", keep: keep) { try await work() } }
  }

  /// Starts callers. The first one runs the work, and the others wait.
  private func start(_ count: Int) async -> [Task<Int, any Error>] {
    var tasks = [start()]
    await eventually { waitingWork.withLock { $0 != nil } }
    for _ in 1..<count { tasks.append(start()) }
    await eventually { flights.waitingCount == count - 1 }
    return tasks
  }

  private func finishWork(_ result: Result<Void, any Error> = .success(())) async {
    await eventually { waitingWork.withLock { $0 != nil } }
    waitingWork.withLock { $0.take() }?.resume(with: result)
  }

  @Test("Callers at the same time share one run; a later caller runs the work again")
  func shared() async throws {
    let tasks = await start(20)
    #expect(try await flights.value(of: "another key") { 8 } == 8)
    await finishWork()
    for task in tasks { #expect(try await task.value == 1) }
    let later = start()
    await finishWork()
    #expect(try await later.value == 2)
  }

  @Test("All callers get the error of the work")
  func failure() async throws {
    let tasks = await start(5)
    await finishWork(.failure(Failed()))
    for task in tasks { await #expect(throws: Failed()) { try await task.value } }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test("If the caller that runs the work is cancelled, another caller runs it")
  func leaderCancelled() async throws {
    let tasks = await start(5)
    await finishWork(.failure(CancellationError()))
    await eventually { flights.waitingCount == 3 }
    await finishWork()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    for task in tasks.dropFirst() { #expect(try await task.value == 2) }
  }

  @Test("A cancelled caller that waits gets the result, and the other callers do too")
  func waiterCancelled() async throws {
    let tasks = await start(3)
    tasks[1].cancel()
    await finishWork()
    for task in tasks { #expect(try await task.value == 1) }
  }

  @Test("Invalidated work runs again, for all its callers, and its result is not kept")
  func invalidated() async throws {
    let kept = LockedState<[Int]>([])
    let first = start { number in
      kept.withLock { $0.append(number) }
      return number * 100
    }
    await eventually { waitingWork.withLock { $0 != nil } }
    let second = start()
    await eventually { flights.waitingCount == 1 }
    flights.invalidate("another key")
    flights.invalidate("key")
    await finishWork()
    await eventually { runs.withLock { $0 } == 2 }
    await finishWork()
    #expect(try await first.value == 200)
    #expect(try await second.value == 200)
    #expect(kept.withLock { $0 } == [2])
  }

  @Test("Invalidated work that fails runs again, and cancelled work passes to another caller")
  func invalidatedFailure() async throws {
    let tasks = await start(2)
    flights.invalidate("key")
    await finishWork(.failure(Failed()))
    await eventually { runs.withLock { $0 } == 2 }
    flights.invalidate("key")
    await finishWork(.failure(CancellationError()))
    await finishWork()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    #expect(try await tasks[1].value == 3)
    // Without running work there is nothing to invalidate.
    flights.invalidate("key")
    #expect(try await flights.value(of: "key") { 9 } == 9)
  }

  @Test("Many callers of many keys all get the value of their key")
  func stress() async throws {
    let flights = SingleFlight<Int, Int, Never>()
    let results = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<2_000 {
        group.addTask {
          if number % 7 == 0 { flights.invalidate(number % 10) }
          return await flights.value(of: number % 10) {
            await Task.yield()
            return number % 10
          } == number % 10
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(results == 2_000)
    #expect(flights.waitingCount == 0)
  }
}
