import Synchronization

/// Runs jobs first in, first out, on the thread that calls `drain`. Ignores priorities.
public final class VirtualExecutor: TaskExecutor {
  private let ready = Mutex<[UnownedJob]>([])

  /// Queues a job. Called by the Swift runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.append(job) }
  }

  /// Runs the ready jobs, and those that they make ready, until none is left.
  func drain() {
    while true {
      let jobs = ready.withLock { ready in
        let jobs = ready
        ready = []
        return jobs
      }
      if jobs.isEmpty { return }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}
