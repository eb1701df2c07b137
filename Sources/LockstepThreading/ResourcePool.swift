/// A pool of threads for blocking work, such as a password hash, so that no event loop ever blocks.
public typealias WorkerPool = ResourcePool<Void>

/// A pool of threads for blocking work. Each thread has a resource of its own, such as a database
/// connection. The resource needs no lock and need not be `Sendable`.
///
/// - Accepted work starts in the order of acceptance. Work with `isAhead` starts before other work. All
///   accepted work finishes, even if the waiting task is cancelled.
/// - The queue is bounded: if it is full, `run` throws at once.
///
/// Call `shutDown()` when a pool is no longer needed. If a pool is released without that call, its
/// threads finish the accepted work and then end.
public final class ResourcePool<Resource>: Sendable {
  private let queue: WorkQueue<@Sendable (inout Resource) -> Void>
  private let threads: LockedState<[NamedThread]>
  private let counter: WorkCounter?

  /// Starts the threads, named `name-1`, `name-2` and so on. Linux keeps the first 15 bytes of a
  /// name. `capacity` limits how much work may wait. `threads` and `capacity` below 1 count as 1.
  ///
  /// `resource` makes a thread's resource, on that thread, before its first work. If the system has
  /// no more threads, ends the threads that were started and throws.
  public init(
    name: String,
    threads: Int,
    capacity: Int,
    counter: WorkCounter? = nil,
    resource: @escaping @Sendable () -> Resource
  ) throws(NamedThread.NotStarted) {
    self.counter = counter
    let queue = WorkQueue<@Sendable (inout Resource) -> Void>(name: name, capacity: capacity)
    self.queue = queue
    var started: [NamedThread] = []
    do throws(NamedThread.NotStarted) {
      for number in 1...max(1, threads) {
        // The thread retains the queue but not the pool, so that an unused pool is released.
        let thread = try NamedThread(name: "\(name)-\(number)") {
          guard let first = queue.next() else { return }
          var resource = resource()
          first(&resource)
          // Otherwise this work, with all that it refers to, would live as long as the thread.
          _ = consume first
          while let work = queue.next() { work(&resource) }
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

  /// How much work waits. Running work does not count.
  package var waiting: Int { queue.count }

  /// Runs `work` on one of the pool's threads, and returns its result or throws its error.
  ///
  /// Throws `PoolOverloadedError` if the queue is full, and `PoolShutDownError` after `shutDown()`.
  nonisolated(nonsending) public func run<Result: Sendable>(
    _ work: @escaping @Sendable (inout Resource) throws -> Result
  ) async throws -> Result {
    try await withCompletion { try submit(work, completion: $0) }
  }

  /// Queues work like `run`. `completion` is called once, on the thread of the pool. Throws
  /// `PoolOverloadedError` if at most `places` of the queue are free, because these are for other work.
  /// `isAhead`: see `WorkQueue.offer`.
  package func submit<Result: Sendable>(
    _ work: @escaping @Sendable (inout Resource) throws -> Result,
    leaving places: Int = 0,
    isAhead: Bool = false,
    completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
  ) throws {
    guard let counter else {
      return try queue.offer(
        { resource in completion(Swift.Result { try work(&resource) }) },
        leaving: places,
        isAhead: isAhead
      )
    }
    counter.begin()
    do {
      try queue.offer(
        { resource in
          completion(Swift.Result { try work(&resource) })
          counter.end()
        },
        leaving: places,
        isAhead: isAhead
      )
    } catch {
      counter.end()
      throw error
    }
  }

  /// Accepts no more work. Returns when all accepted work is done, the threads have ended and the
  /// resources are released.
  ///
  /// Blocks its caller, which must not be one of the pool's threads. A second call returns at once.
  public func shutDown() {
    for thread in stopAccepting() { thread.join() }
  }

  /// Closes the queue and returns the threads, which the caller must join or detach.
  private func stopAccepting() -> [NamedThread] {
    queue.close()
    return threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
  }
}

extension ResourcePool<Void> {
  package convenience init(
    name: String,
    threads: Int,
    capacity: Int,
    counter: WorkCounter? = nil
  ) throws(NamedThread.NotStarted) {
    try self.init(name: name, threads: threads, capacity: capacity, counter: counter, resource: {})
  }

  /// Runs `work` on one of the pool's threads, and returns its result or throws its error.
  nonisolated(nonsending) public func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await run { (_: inout Void) in try work() }
  }
}
