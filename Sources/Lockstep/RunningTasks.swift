import Synchronization
import Workers

/// Tasks that others, such as all screens', are children of: they end when the last of those has.
///
/// Where there may be many, they need many roots: a group of tasks looks for one that ends among all that are older, so in a
/// single group each end of one of fifty thousand screens would take half a millisecond, and that of all of them at once many
/// seconds.
final class RunningTasks: Sendable {
  typealias Work = @Sendable () async -> Void

  /// No more tasks are taken: the server stops.
  struct ShutDown: Error {}

  private let works: [AsyncStream<Work>.Continuation]
  private let roots: [Task<Void, Never>]
  private let running: Monitor<Int>
  private let started = Atomic(0)

  /// - Parameter branches: How many roots there are; some hundred tasks each are no burden.
  init(branches: Int = 1) {
    let streams = (0..<branches).map { _ in AsyncStream<Work>.makeStream() }
    works = streams.map(\.continuation)
    let running = Monitor(branches)
    self.running = running
    roots = streams.map { stream, _ in
      Task {
        await withDiscardingTaskGroup { group in
          for await work in stream { group.addTask { await work() } }
          group.cancelAll()
        }
        running.withLock { $0 -= 1 }
        running.wakeAll()
      }
    }
  }

  /// Runs work as a child.
  func start(_ work: @escaping Work) throws(ShutDown) {
    let turn = started.add(1, ordering: .relaxed).newValue
    if case .terminated = works[turn % works.count].yield(work) { throw ShutDown() }
  }

  /// Cancels all, and blocks until the last has ended.
  func shutDown() {
    for work in works { work.finish() }
    for root in roots { root.cancel() }
    running.wait { $0 == 0 ? () : nil }
  }
}
