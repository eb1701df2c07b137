import LockstepThreading

/// Runs tasks on one thread, as an event loop of the server does.
final class OneThread: TaskExecutor {
  private let jobs = WorkQueue<UnownedJob>(name: "loop", capacity: .max)

  /// Starts the thread, which runs until the program ends.
  init() throws(NamedThread.NotStarted) {
    let executor = self
    let thread = try NamedThread(name: "loop") {
      while let job = executor.jobs.next() { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
    }
    thread.detach()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    do {
      try jobs.offer(UnownedJob(job))
    } catch {
      print("the loop has ended: \(error)")
    }
  }
}
