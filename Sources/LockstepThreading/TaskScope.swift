/// Runs tasks that end together when the scope shuts down, such as all screens.
///
/// A scope has several task groups. Each end of a task searches its group's older tasks: in one
/// group of 50,000 tasks that takes half a millisecond, and ending all of them takes many seconds.
package final class TaskScope: Sendable {
  package typealias Work = @Sendable () async -> Void

  /// The scope accepts no more tasks, because the server is stopping.
  package struct ShutDownError: Error {}

  /// Started on demand, so that a new server has none.
  private struct Groups {
    var works: [AsyncStream<Work>.Continuation] = []
    var tasks: [Task<Void, Never>] = []
    var started = 0
    var areShutDown = false
  }

  private let limit: Int
  private let groups = LockedState(Groups())
  private let running = LockedState(0)

  /// `branches` is the number of task groups. A group works well with some hundred tasks.
  package init(branches: Int = 1) {
    limit = branches
  }

  /// Starts a task.
  package func start(_ work: @escaping Work) throws(ShutDownError) {
    guard let group = nextGroup(), case .enqueued = group.yield(work) else { throw ShutDownError() }
  }

  /// Cancels all tasks, and blocks until the last one has ended.
  package func shutDown() {
    let (works, tasks) = groups.withLock { groups in
      groups.areShutDown = true
      return (groups.works, groups.tasks)
    }
    for work in works { work.finish() }
    for task in tasks { task.cancel() }
    running.wait { $0 == 0 ? () : nil }
  }

  /// A new group up to the limit, then the existing ones in turn. Nil after the shutdown.
  private func nextGroup() -> AsyncStream<Work>.Continuation? {
    groups.withLock { groups in
      guard !groups.areShutDown else { return nil }
      defer { groups.started += 1 }
      if groups.works.count < limit { startGroup(in: &groups) }
      return groups.works[groups.started % groups.works.count]
    }
  }

  private func startGroup(in groups: inout Groups) {
    let (stream, works) = AsyncStream<Work>.makeStream()
    groups.works.append(works)
    running.withLock { $0 += 1 }
    groups.tasks.append(
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
