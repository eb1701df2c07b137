import Synchronization
import LockstepThreading

/// The one writer of a database: a thread of its own with a connection of its own, which commits in groups.
///
/// To have a transaction on disk costs about the same whether it holds one change or a hundred. So what is submitted
/// while one transaction is committed goes into the next one together:
///
/// - A **unit** is what one caller wants to write, whole or not at all. Units run one after the other, in the order of
///   their submission; each sees what those before it wrote. But those of an owner whose units take long let others pass.
/// - A unit that throws fails alone: what it wrote is undone, and its error is its caller's.
/// - A unit is **settled** when the transaction that holds it has been committed, with `synchronous=FULL`: not before it
///   is on disk. Units are settled in the order of their submission, each exactly once.
/// - When a transaction fails as a whole (a full disk, one that fails), everything that ran in it is undone and all its
///   units fail with that error, those too that had failed by themselves: what they judged by may just have been
///   undone. Units that hadn't run yet go into the next transaction. So the writer goes on as soon as the cause is gone.
/// - A unit runs at most once.
///
/// The queue is bounded: beyond it `submit` and `write` refuse at once.
///
/// A writer should be shut down. One that is just dropped finishes what it accepted, and its thread ends by itself.
public final class DatabaseWriter: Sendable {
  @usableFromInline let queue: WorkQueue<WriteUnit>
  private let figures: LockedState<Statistics>
  let healthListener: LockedState<(@Sendable (HealthChange) -> Void)?>
  /// Nil once it is being joined.
  private let thread: LockedState<NamedThread?>

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - connection: The connection, which may write and is in no transaction. It is the thread's own from now on, and
  ///     is closed when the thread ends.
  ///   - options: Bounds, and when the log is emptied.
  ///   - monotonic: A clock that never goes back, in nanoseconds, to measure commits with.
  /// - Throws: `NamedThread.NotStarted` when the system has no thread to give; `SQLiteError` where the log's bounds can't
  ///   be set.
  public init(
    connection: sending SQLiteConnection,
    options: Options = Options(),
    monotonic: @escaping @Sendable () -> Int64
  ) throws {
    try WALCheckpointer.prepare(connection, options: options)
    let queue = WorkQueue<WriteUnit>(name: options.name, capacity: options.capacity)
    let figures = LockedState(Statistics())
    let healthListener = LockedState<(@Sendable (HealthChange) -> Void)?>(nil)
    let handedOver = Mutex<SQLiteConnection?>(connection)
    let settler = try CommitNotifier(name: "\(options.name)-settler")
    self.queue = queue
    self.figures = figures
    self.healthListener = healthListener
    // The thread knows the queue and not the writer, so that a writer that nobody holds goes away.
    let thread = try NamedThread(name: options.name) {
      handedOver.withLock { connection in
        guard let own = connection.take() else { return }
        var groups = GroupCommit(
          connection: own,
          queue: queue,
          figures: figures,
          settler: settler,
          healthListener: healthListener,
          options: options,
          monotonic: monotonic
        )
        groups.run()
      }
    }
    self.thread = LockedState(thread)
  }

  deinit {
    stopAccepting()?.detach()
  }

  /// Queues a unit.
  ///
  /// - Parameters:
  ///   - unit: Writes, on the writer's thread, within a transaction that it must neither end nor nest. Everybody's writes
  ///     wait for it, so it does nothing else that takes time.
  ///   - throwsUnwritten: A promise that the unit throws only before it has written anything, or with a failed statement
  ///     that was its first to write. Nothing has to be undone for it then, and it does without a savepoint, which costs
  ///     as much as another statement. Where it breaks the promise, its whole group fails. Default: false.
  ///   - owner: Whose it is. Where an owner's units take long, their next ones let others go first, so that nobody's hold
  ///     everybody up; too many of them are refused with `WorkerPool.Overloaded`. Default: nil, nobody's.
  ///   - settled: Told exactly once, when what the unit wrote is on disk, or why nothing of it was kept: one after the other
  ///     in the order of submission, by a thread of the writer's. Where a whole group failed, no unit runs before all of
  ///     it was told; after a group that is on disk, units may run while it's still being told. It should be short, and
  ///     must not wait for the writer.
  /// - Throws: `WorkerPool.Overloaded` when the queue is full, `WorkerPool.ShutDown` after `shutDown()`; the unit isn't
  ///   run then, and `settled` not called.
  @inlinable
  public func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (SQLiteConnection) throws -> Value,
    throwsUnwritten: Bool = false,
    of owner: WriteOwner? = nil,
    settled: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try queue.offer(
      WriteUnit(
        run: { connection in
          let value = try unit(connection)
          return { @Sendable in settled(.success(value)) }
        },
        fail: { settled(.failure($0)) },
        throwsUnwritten: throwsUnwritten,
        owner: owner
      )
    )
  }

  /// Writes a unit and returns its value when it is on disk, or throws why nothing of it was kept: see
  /// `submit(_:settled:)`.
  ///
  /// A caller whose task is cancelled still waits: only then is it known what became of the unit.
  @inlinable
  nonisolated(nonsending) public func write<Value: Sendable>(
    _ unit: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try submit(unit) { continuation.resume(with: $0) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// What the writer has done so far.
  public var statistics: Statistics {
    var statistics = figures.withLock { $0 }
    statistics.waiting = queue.count
    return statistics
  }

  /// Accepts nothing more and returns when all that was accepted is settled and the connection is closed.
  ///
  /// Blocks its caller, which must not be a unit or be called by `settled`. A second call returns at once.
  public func shutDown() {
    stopAccepting()?.join()
  }

  /// Closes the queue and hands out the thread, to be joined or detached, once.
  private func stopAccepting() -> NamedThread? {
    queue.close()
    return thread.withLock { $0.take() }
  }
}
