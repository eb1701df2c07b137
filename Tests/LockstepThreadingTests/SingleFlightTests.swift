import Testing
import LockstepThreading

@Suite("Work that many want")
struct JointWorkTests {
  private struct Failed: Error, Equatable {}

  private let joint = SingleFlight<String, Int>()
  private let runs = LockedState(0)
  /// Opened by whoever resumes it.
  private let held = LockedState<CheckedContinuation<Void, any Error>?>(nil)

  /// Work that is held up until it's let go.
  private func work() async throws -> Int {
    try await withCheckedThrowingContinuation { continuation in
      runs.withLock { $0 += 1 }
      held.withLock { $0 = continuation }
    }
    return 7
  }

  private func start() -> Task<Int, any Error> { Task { try await joint.value(of: "name") { try await work() } } }

  private func eventually(_ condition: () -> Bool) async { while !condition() { await Task.yield() } }

  private func letGo(_ result: Result<Void, any Error>) async {
    await eventually { held.withLock { $0 != nil } }
    held.withLock { $0.take() }?.resume(with: result)
  }

  @Test("It's done once for all who want it at the same time, and again for who comes later")
  func once() async throws {
    let tasks = (0..<20).map { _ in start() }
    await eventually { joint.waitingCount == 19 }
    #expect(try await joint.value(of: "other") { 8 } == 8)
    await letGo(.success(()))
    for task in tasks { #expect(try await task.value == 7) }
    #expect(runs.withLock { $0 } == 1)
    let later = start()
    await letGo(.success(()))
    #expect(try await later.value == 7)
    #expect(runs.withLock { $0 } == 2)
  }

  @Test("An error is everybody's")
  func failure() async throws {
    let tasks = (0..<5).map { _ in start() }
    await eventually { joint.waitingCount == 4 }
    await letGo(.failure(Failed()))
    for task in tasks { await #expect(throws: Failed()) { try await task.value } }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test("Where who was at it has gone, another one does it")
  func gone() async throws {
    let tasks = (0..<5).map { _ in start() }
    await eventually { joint.waitingCount == 4 }
    await letGo(.failure(CancellationError()))
    await eventually { joint.waitingCount == 3 }
    await letGo(.success(()))
    var done = 0
    for task in tasks where (try? await task.value) == 7 { done += 1 }
    #expect(done == 4)
    #expect(runs.withLock { $0 } == 2)
  }
}
