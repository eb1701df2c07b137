/// Tasks that others, such as all screens', are children of: they end when the last of those has.
///
/// Where there may be many, they need many roots: a group of tasks looks for one that ends among all that are older, so in a
/// single group each end of one of fifty thousand screens would take half a millisecond, and that of all of them at once many
/// seconds.
package final class TaskScope: Sendable {
  package typealias Work = @Sendable () async -> Void

  /// No more tasks are taken: the server stops.
  package struct ShutDown: Error {}

  /// The roots there are. They begin when they're needed: a server that has just started has none to begin.
  private struct Roots {
    var works: [AsyncStream<Work>.Continuation] = []
    var tasks: [Task<Void, Never>] = []
    var started = 0
    var areShutDown = false
  }

  private let branches: Int
  private let roots = LockedState(Roots())
  private let running = LockedState(0)

  /// - Parameter branches: How many roots there may be; some hundred tasks each are no burden.
  package init(branches: Int = 1) {
    self.branches = branches
  }

  /// Runs work as a child.
  package func start(_ work: @escaping Work) throws(ShutDown) {
    guard let root = nextRoot(), case .enqueued = root.yield(work) else { throw ShutDown() }
  }

  /// Cancels all, and blocks until the last has ended.
  package func shutDown() {
    let (works, tasks) = roots.withLock { roots in
      roots.areShutDown = true
      return (roots.works, roots.tasks)
    }
    for work in works { work.finish() }
    for task in tasks { task.cancel() }
    running.wait { $0 == 0 ? () : nil }
  }

  /// In turns, once there are as many as there may be; none where all are shut down.
  private func nextRoot() -> AsyncStream<Work>.Continuation? {
    roots.withLock { roots in
      guard !roots.areShutDown else { return nil }
      defer { roots.started += 1 }
      if roots.works.count < branches { beginRoot(among: &roots) }
      return roots.works[roots.started % roots.works.count]
    }
  }

  private func beginRoot(among roots: inout Roots) {
    let (stream, works) = AsyncStream<Work>.makeStream()
    roots.works.append(works)
    running.withLock { $0 += 1 }
    roots.tasks.append(
      Task { [running] in
        await withDiscardingTaskGroup { group in
          for await work in stream { group.addTask { await work() } }
          group.cancelAll()
        }
        running.withLock { $0 -= 1 }
        running.wakeAll()
      }
    )
  }
}
