import Reactor
import Synchronization

/// A store with one bound value, watched by 100,000 tasks.
enum StoreBenchmark {
  private static let watchers = 100_000

  private final class Count: Sendable {
    let told = Atomic<Int>(0)
  }

  static func tellEverybody() -> Duration {
    let executor = SingleCoreExecutor()
    let subject = DispatchSubject<Int>()
    let value = BoundValue(subject, initial: 0)
    let count = Count()
    let tasks = Task(executorPreference: executor) {
      await withDiscardingTaskGroup { group in
        for _ in 0..<watchers {
          group.addTask {
            for await number in value.values where number == 1 { count.told.add(1, ordering: .relaxed) }
          }
        }
      }
    }
    executor.drain()
    let time = cpuTime {
      subject.dispatch(1)
      executor.drain()
    }
    precondition(count.told.load(ordering: .relaxed) == watchers)
    tasks.cancel()
    executor.drain()
    return time
  }
}
