import Synchronization
import LockstepReactor

/// Runs everything on the calling thread, as a server's event loop would.
final class SingleCoreExecutor: TaskExecutor {
  private let ready = Mutex<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.append(job) }
  }

  func drain() {
    var jobs: [UnownedJob] = []
    while true {
      ready.withLock { swap(&$0, &jobs) }
      if jobs.isEmpty { return }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
      jobs.removeAll(keepingCapacity: true)
    }
  }

  /// Runs a host for the duration of `body`.
  func hosting<R: Reactor, Result>(_ reactor: R, _ body: (ReactorHost<R>) -> Result) -> Result {
    let host = ReactorHost(reactor)
    _ = Task(executorPreference: self) { await host.run() }
    drain()
    defer {
      host.close()
      drain()
    }
    return body(host)
  }
}
