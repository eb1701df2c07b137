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

  private func start() -> Task<Int, any Error> {
    Task { try await flights.value(of: "key") { try await work() } }
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

  @Test("Many callers of many keys all get the value of their key")
  func stress() async throws {
    let flights = SingleFlight<Int, Int, Never>()
    let results = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<2_000 {
        group.addTask {
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
