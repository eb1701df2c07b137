import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@Suite("The task scope", .timeLimit(.minutes(10)))
struct RunningTasksTests {
  @Test("Shutting down cancels all tasks, waits for their end, and refuses new ones")
  func shutDown() async throws {
    let (tasks, begun, ended) = (TaskScope(branches: 256), Counter(), Counter())
    for _ in 0..<300 {
      try tasks.start {
        begun.count.add(1, ordering: .relaxed)
        // Waits until the task is cancelled.
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
        // The end of a task takes a while.
        for _ in 0..<100 { await Task.yield() }
        ended.count.add(1, ordering: .relaxed)
      }
    }
    await eventually { begun.count.load(ordering: .relaxed) == 300 }
    #expect(ended.count.load(ordering: .relaxed) == 0)
    await aside { tasks.shutDown() }
    #expect(ended.count.load(ordering: .relaxed) == 300)
    #expect(throws: TaskScope.ShutDownError.self) { try tasks.start {} }
  }

  private final class Counter: Sendable {
    let count = Atomic(0)
  }
}
