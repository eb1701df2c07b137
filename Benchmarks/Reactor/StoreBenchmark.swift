import LockstepReactor
import Synchronization

/// A store with one bound value and 100,000 tasks that observe it.
enum StoreBenchmark {
  private static let watchers = 100_000

  private final class Count: Sendable {
    let notified = Atomic<Int>(0)
  }

  static func notifyAll() -> Spent {
    let executor = SingleCoreExecutor()
    let subject = DispatchSubject<Int>()
    let value = BoundValue(subject, initial: 0)
    let count = Count()
    let tasks = Task(executorPreference: executor) {
      await withDiscardingTaskGroup { group in
        for _ in 0..<watchers {
          group.addTask {
            for await number in value.values where number == 1 { count.notified.add(1, ordering: .relaxed) }
          }
        }
      }
    }
    executor.drain()
    let time = Spent {
      subject.dispatch(1)
      executor.drain()
    }
    precondition(count.notified.load(ordering: .relaxed) == watchers)
    tasks.cancel()
    executor.drain()
    return time
  }

  /// All subscribers unsubscribe in random order.
  static func removeAll() -> Spent {
    let subject = DispatchSubject<Int>()
    var streams = (0..<watchers).map { _ in Optional(subject.events()) }
    let order = streams.indices.shuffled()
    let time = Spent {
      for index in order { streams[index] = nil }
    }
    precondition(subject.subscriberCount == 0)
    return time
  }
}
