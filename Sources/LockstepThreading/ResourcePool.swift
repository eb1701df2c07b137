/// A few threads for work that blocks, each with a tool of its own, such as a database connection, which only that thread
/// ever touches; so it needs no lock, and needn't be `Sendable`.
///
/// What `WorkerPool` says of order, of bounds and of being dropped holds here too.
public final class ResourcePool<Tool>: Sendable {
  private let queue: WorkQueue<@Sendable (inout Tool) -> Void>
  private let threads: LockedState<[NamedThread]>

  /// Starts the threads, named `name-1`, `name-2` and so on.
  ///
  /// - Parameters:
  ///   - name: What the pool is for; short, since the system shows the first 15 bytes of a thread's name.
  ///   - threads: How many pieces of work run at a time, at least 1.
  ///   - capacity: How many may wait beside those that run, at least 1.
  ///   - tool: Makes a thread's tool, on that thread, before its first work. It goes when the thread ends.
  /// - Throws: `NamedThread.NotStarted` when the system has no more threads; those already started have ended.
  public init(
    name: String,
    threads: Int,
    capacity: Int,
    tool: @escaping @Sendable () -> Tool
  ) throws(NamedThread.NotStarted) {
    let queue = WorkQueue<@Sendable (inout Tool) -> Void>(name: name, capacity: capacity)
    self.queue = queue
    var started: [NamedThread] = []
    do throws(NamedThread.NotStarted) {
      for number in 1...max(1, threads) {
        // The thread knows the queue and not the pool, so that a pool that nobody holds goes away.
        let thread = try NamedThread(name: "\(name)-\(number)") {
          guard let first = queue.next() else { return }
          var tool = tool()
          first(&tool)
          while let work = queue.next() { work(&tool) }
        }
        started.append(thread)
      }
    } catch {
      queue.close()
      for thread in started { thread.join() }
      throw error
    }
    self.threads = LockedState(started)
  }

  deinit {
    for thread in stopAccepting() { thread.detach() }
  }

  /// How much work waits now, beside what runs.
  public var waiting: Int { queue.count }

  /// Runs `work` on one of the pool's threads, with its tool, and returns or throws what it does.
  ///
  /// Throws `WorkerPool.Overloaded` at once when the queue is full, and `WorkerPool.ShutDown` after `shutDown()`.
  nonisolated(nonsending) public func run<Result: Sendable>(
    _ work: @escaping @Sendable (inout Tool) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try queue.offer { tool in continuation.resume(with: Swift.Result { try work(&tool) }) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Accepts nothing more and returns when all that was accepted is done, the threads have ended and their tools are
  /// gone.
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
