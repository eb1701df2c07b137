/// Where the work of a server runs. By default, tasks run on Swift's own threads, and nothing counts the work.
///
/// A test in virtual time runs all tasks on an executor of its own. Before it moves its clock, it waits until the work
/// on other threads has ended.
public struct WorkPlacement: Sendable {
  /// Runs the tasks that belong to no request, such as those of screens. Nil: Swift's own threads.
  package var taskExecutor: (any TaskExecutor)?
  /// Counts the work on threads of the server, such as the writer thread. Nil: nothing counts it.
  package var counter: WorkCounter?

  /// The placement of a server in production.
  public init() {}
}

/// Counts work that one thread has handed to another one, and that has not ended.
///
/// Work has ended when its completion handler has returned. By then, further work of the handler is counted, and a
/// task that the handler has resumed is in the queue of its executor.
public final class WorkCounter: Sendable {
  private let running = LockedState(0)

  package init() {}

  package func begin() { running.withLock { $0 += 1 } }

  package func end() {
    let isIdle = running.withLock { running in
      running -= 1
      return running == 0
    }
    if isIdle { running.wakeAll() }
  }

  /// Blocks until no work runs.
  package func waitUntilIdle() { running.wait { $0 == 0 ? () : nil } }
}
