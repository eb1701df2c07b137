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

    /// What a pool of this name says that lets so much wait.
    public init(pool: String, capacity: Int) {
      self.pool = pool
      self.capacity = capacity
    }

    /// For example: `the pool "hash" is overloaded: 64 pieces of work wait already`.
    public var description: String { "the pool \"\(pool)\" is overloaded: \(capacity) pieces of work wait already" }
  }

  /// The pool accepts no more work: it is shutting down.
  public struct ShutDown: Error, Equatable, CustomStringConvertible {
    /// The pool's name.
    public let pool: String

    /// What a pool of this name says.
    public init(pool: String) {
      self.pool = pool
    }

    /// For example: `the pool "hash" has been shut down`.
    public var description: String { "the pool \"\(pool)\" has been shut down" }
  }

  private let pool: ResourcePool<Void>

  /// Starts the threads, named `name-1`, `name-2` and so on.
  ///
  /// - Parameters:
  ///   - name: What the pool is for; short, since the system shows the first 15 bytes of a thread's name.
  ///   - threads: How many pieces of work run at a time, at least 1.
  ///   - capacity: How many may wait beside those that run, at least 1.
  /// - Throws: `NamedThread.NotStarted` when the system has no more threads; those already started have ended.
  public init(name: String, threads: Int, capacity: Int) throws(NamedThread.NotStarted) {
    pool = try ResourcePool(name: name, threads: threads, capacity: capacity, tool: {})
  }

  /// How much work waits now, beside what runs.
  public var waiting: Int { pool.waiting }

  /// Runs `work` on one of the pool's threads and returns or throws what it does.
  ///
  /// Throws `Overloaded` at once when the queue is full, and `ShutDown` after `shutDown()`.
  nonisolated(nonsending) public func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await pool.run { _ in try work() }
  }

  /// Accepts nothing more and returns when all that was accepted is done and the threads have ended.
  ///
  /// Blocks its caller, which must not be one of the pool's own threads. A second call returns at once.
  public func shutDown() { pool.shutDown() }
}
