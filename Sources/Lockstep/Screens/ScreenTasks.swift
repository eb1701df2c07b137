import Workers

/// The task that all screens' tasks are children of: it ends when the last of them has.
final class ScreenTasks: Sendable {
  typealias Work = @Sendable () async -> Void

  /// No more tasks are taken: the server stops.
  struct ShutDown: Error {}

  private let works: AsyncStream<Work>.Continuation
  private let root: Task<Void, Never>
  private let hasEnded = Monitor(false)

  init() {
    let (stream, works) = AsyncStream<Work>.makeStream()
    self.works = works
    let hasEnded = hasEnded
    root = Task {
      await withDiscardingTaskGroup { group in
        for await work in stream { group.addTask { await work() } }
        group.cancelAll()
      }
      hasEnded.withLock { $0 = true }
      hasEnded.wakeAll()
    }
  }

  /// Runs work as a child.
  func start(_ work: @escaping Work) throws(ShutDown) {
    if case .terminated = works.yield(work) { throw ShutDown() }
  }

  /// Cancels all, and blocks until the last has ended.
  func shutDown() {
    works.finish()
    root.cancel()
    hasEnded.wait { $0 ? () : nil }
  }
}
