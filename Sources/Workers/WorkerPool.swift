/// A few threads for work that blocks (a disk, a password hash), so that no event loop ever does.
///
/// - What is accepted is started in the order of acceptance and always finished, also when the task that waits for it
///   is cancelled meanwhile.
/// - The queue is bounded: beyond it `run` refuses at once instead of letting a storm grow.
/// - `run` may be called from any task on any executor; the caller goes on where it was.
///
/// A pool should be shut down. One that is just dropped finishes what it accepted, and its threads end by themselves.
public final class WorkerPool: Sendable {
  /// More work is waiting than the pool accepts. Try again later.
  public struct Overloaded: Error, Equatable, CustomStringConvertible {
    /// The pool's name.
    public let pool: String
    /// How much may wait.
    public let capacity: Int

    /// For example: `the pool "hash" is overloaded: 64 pieces of work wait already`.
    public var description: String { "the pool \"\(pool)\" is overloaded: \(capacity) pieces of work wait already" }
  }

  /// The pool accepts no more work: it is shutting down.
  public struct ShutDown: Error, Equatable, CustomStringConvertible {
    /// The pool's name.
    public let pool: String

    /// For example: `the pool "hash" has been shut down`.
    public var description: String { "the pool \"\(pool)\" has been shut down" }
  }

  private let name: String
  private let capacity: Int
  private let queue: WorkQueue
  private let threads: Monitor<[NamedThread]>

  /// Starts the threads, named `name-1`, `name-2` and so on.
  ///
  /// - Parameters:
  ///   - name: What the pool is for; short, since the system shows the first 15 bytes of a thread's name.
  ///   - threads: How many pieces of work run at a time, at least 1.
  ///   - capacity: How many may wait beside those that run, at least 1.
  /// - Throws: `NamedThread.NotStarted` when the system has no more threads; those already started have ended.
  public init(name: String, threads: Int, capacity: Int) throws(NamedThread.NotStarted) {
    self.name = name
    self.capacity = max(1, capacity)
    let queue = WorkQueue(capacity: self.capacity)
    self.queue = queue
    var started: [NamedThread] = []
    do throws(NamedThread.NotStarted) {
      for number in 1...max(1, threads) {
        // The thread knows the queue and not the pool, so that a pool that nobody holds goes away.
        started.append(
          try NamedThread(name: "\(name)-\(number)") { while let work = queue.next() { work() } }
        )
      }
    } catch {
      queue.close()
      for thread in started { thread.join() }
      throw error
    }
    self.threads = Monitor(started)
  }

  deinit {
    for thread in stopAccepting() { thread.detach() }
  }

  /// Runs `work` on one of the pool's threads and returns or throws what it does.
  ///
  /// Throws `Overloaded` at once when the queue is full, and `ShutDown` after `shutDown()`.
  nonisolated(nonsending) public func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      let offer = queue.offer { continuation.resume(with: Swift.Result { try work() }) }
      switch offer {
      case .accepted: break
      case .full: continuation.resume(throwing: Overloaded(pool: name, capacity: capacity))
      case .closed: continuation.resume(throwing: ShutDown(pool: name))
      }
    }
  }

  /// Accepts nothing more and returns when all that was accepted is done and the threads have ended.
  ///
  /// Blocks its caller, which must not be one of the pool's own threads. A second call returns at once.
  public func shutDown() {
    for thread in stopAccepting() { thread.join() }
  }

  /// Closes the queue and hands out the threads, each to be joined or detached, once.
  private func stopAccepting() -> [NamedThread] {
    queue.close()
    return threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
  }
}
