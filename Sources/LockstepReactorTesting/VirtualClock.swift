import Synchronization
import Testing

/// A clock whose time moves only when the test moves it. It also runs the test's tasks.
///
/// Start tasks with `start`. They run when the test calls `advance` or `run`, on the calling
/// thread, in the order in which they became ready. Sleepers wake in the order of their deadlines.
/// Those with the same deadline wake in the order in which they fell asleep. Each wakes when all
/// work that the one before caused has run. So the same test always gives the same record.
///
/// Use structured tasks only. Child tasks, and actors without a custom executor, run on this
/// clock's executor; `Task { }`, `Task.detached` and main-actor code do not.
public final class VirtualClock: Clock {
  /// A point in virtual time.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The time since the start of the clock.
    public let offset: Duration

    /// The point this long after the start of the clock.
    public init(offset: Duration) { self.offset = offset }

    /// The point this much later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// The time from this point to another.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    /// Whether one point is before another.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    /// The offset.
    public var description: String { "\(offset)" }
  }

  private struct Sleeper: Sendable {
    let id: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct Time: Sendable {
    var now = Instant(offset: .zero)
    /// In the order of their deadlines. With the same deadline, in the order in which they fell
    /// asleep.
    var sleepers: [Sleeper] = []
    var lastID = 0
    var isMoving = false

    mutating func insert(_ sleeper: Sleeper) {
      let later = sleepers.lastIndex { $0.deadline <= sleeper.deadline }
      sleepers.insert(sleeper, at: later.map { $0 + 1 } ?? 0)
    }

    mutating func wakeNext(until limit: Instant?) -> Sleeper? {
      guard let first = sleepers.first else { return nil }
      if let limit, first.deadline > limit { return nil }
      now = max(now, first.deadline)
      return sleepers.removeFirst()
    }
  }

  private let time = Mutex(Time())
  #if THREAD_SANITIZER
    private let isEntered = Atomic(false)
  #endif
  private let failures: FailureReporter

  /// The executor of this clock's tasks, for `Task(executorPreference:)`.
  public let executor = VirtualExecutor()

  /// Makes a clock at time zero.
  public init(failures: FailureReporter = .issue) {
    self.failures = failures
  }

  private func withTime<Result: Sendable>(_ body: (inout Time) -> Result) -> Result {
    #if THREAD_SANITIZER
      // Prevents contention for the Mutex: see `AwaitableState`.
      while isEntered.exchange(true, ordering: .acquiring) {}
      defer { isEntered.store(false, ordering: .releasing) }
    #endif
    return time.withLock { body(&$0) }
  }

  /// The current virtual time.
  public var now: Instant { withTime(\.now) }

  /// Virtual time has no smallest step.
  public var minimumResolution: Duration { .zero }

  /// How many tasks are asleep.
  public var sleeperCount: Int { withTime(\.sleepers.count) }

  /// Sleeps until a test moves the time to `deadline`; throws `CancellationError` on cancellation.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = withTime { time in
      time.lastID += 1
      return time.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = withTime { time in
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= time.now { return .success(()) }
          time.insert(Sleeper(id: id, deadline: deadline, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let sleeper = withTime { time in
        time.sleepers.firstIndex { $0.id == id }.map { time.sleepers.remove(at: $0) }
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Adds a task. It begins to run at the next `advance`, `settle` or `run`.
  @discardableResult
  public func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: executor) { await body() }
  }

  /// Moves the time to `deadline`, inclusive: tasks that sleep until then wake.
  public func advance(to deadline: Instant, location: SourceLocation = #_sourceLocation) {
    move(location) {
      while let sleeper = withTime({ $0.wakeNext(until: deadline) }) {
        sleeper.continuation.resume()
        executor.drain()
      }
      withTime { $0.now = max($0.now, deadline) }
    }
  }

  /// Moves the time by `duration`. Tasks that sleep until then wake.
  public func advance(by duration: Duration, location: SourceLocation = #_sourceLocation) {
    advance(to: now.advanced(by: duration), location: location)
  }

  /// Runs the tasks that are ready, without moving the time.
  public func settle(location: SourceLocation = #_sourceLocation) {
    advance(to: now, location: location)
  }

  /// Moves the time from sleeper to sleeper until no task sleeps. Reports a failure after
  /// `maximumWakes`, because `run` would never return if a timer repeats without end.
  public func run(maximumWakes: Int = 1_000_000, location: SourceLocation = #_sourceLocation) {
    move(location) {
      var wakes = 0
      while wakes < maximumWakes, let sleeper = withTime({ $0.wakeNext(until: nil) }) {
        wakes += 1
        sleeper.continuation.resume()
        executor.drain()
      }
      if sleeperCount > 0 {
        failures.report(
          """
          The virtual clock still has sleepers after \(maximumWakes) wakes: a timer seems to repeat without end.
          Cancel the timer, or move the time with advance(to:) or advance(by:) instead of run().
          """,
          location
        )
      }
    }
  }

  /// Runs the ready tasks, then `body`. Reports a failure if a task of this clock calls this.
  private func move(_ location: SourceLocation, _ body: () -> Void) {
    let isFree = withTime { time in
      defer { time.isMoving = true }
      return !time.isMoving
    }
    guard isFree else {
      return failures.report(
        """
        The virtual clock was moved while it was already moving.
        Move it from the test only. Use sleep in the tasks that run on it.
        """,
        location
      )
    }
    executor.drain()
    body()
    withTime { $0.isMoving = false }
  }
}

/// Runs jobs first in, first out, on the thread that calls `drain`. Ignores priorities.
public final class VirtualExecutor: TaskExecutor {
  private let ready = Mutex<[UnownedJob]>([])
  private let waits = Mutex<[@Sendable () -> Void]>([])

  /// Lets the executor wait for other threads to which jobs hand work, such as those of a database.
  ///
  /// `wait` is called after each job. It must block until all this work has ended, and until the tasks that wait for
  /// it are resumed. So these tasks run at the same virtual time, and always in the same order.
  public func waitAfterEachJob(_ wait: @escaping @Sendable () -> Void) {
    waits.withLock { $0.append(wait) }
  }

  /// Queues a job. Called by the Swift runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.append(job) }
  }

  /// Runs the ready jobs, and those that they make ready, until none is left.
  func drain() {
    let waits = waits.withLock { $0 }
    while true {
      for wait in waits { wait() }
      let jobs = ready.withLock { ready in
        let jobs = ready
        ready = []
        return jobs
      }
      if jobs.isEmpty { return }
      for job in jobs {
        job.runSynchronously(on: asUnownedTaskExecutor())
        for wait in waits { wait() }
      }
    }
  }
}
