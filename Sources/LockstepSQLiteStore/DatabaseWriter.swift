import LockstepSQLite
import Synchronization
import LockstepThreading

/// The only writer of a database: a thread with its own connection that commits in groups.
///
/// A sync to disk takes about the same time for a hundred changes as for one. So all units that are
/// submitted during a commit go into the next transaction together.
///
/// - A **unit** is one caller's write. It is applied completely or not at all, and runs at most
///   once. Units run in the order of submission, except those of throttled owners (see `submit`).
///   Each unit sees the changes of earlier units.
/// - A unit that throws fails alone. Its changes are rolled back, and its caller gets the error. A
///   unit should throw before its first write, because a later failure is expensive: the writer then
///   erases the WAL and the free pages, which may contain what the unit wrote.
/// - A unit's **completion handler** is called when the transaction is on disk (`synchronous=FULL`)
///   or has failed. Each handler is called exactly once, in the order in which the units ran.
/// - If a whole transaction fails, for example because the disk is full, all its changes are rolled
///   back. All its units get that error, even units that had failed alone, because the state they
///   saw may have been rolled back. Units that have not run yet go into the next transaction. But
///   if a transaction cannot begin, they fail too.
///
/// Shut a writer down when it is no longer needed. A writer that is released instead finishes the
/// units it accepted, and its thread then ends by itself.
package final class DatabaseWriter: Sendable {
  @usableFromInline let queue: WorkQueue<WriteUnit>
  @usableFromInline let counter: WorkCounter?
  let shared: WriterShared
  /// Nil after it was joined or detached.
  private let thread: LockedState<NamedThread?>

  /// Starts the writer thread. From now on, the thread owns the connection and closes it at the
  /// end. The connection must have no open transaction. `monotonic` is a clock in nanoseconds.
  package init(
    connection: sending SQLiteConnection,
    options: Options = Options(),
    monotonic: @escaping @Sendable () -> Int64
  ) throws {
    try WALCheckpointer.prepare(connection, options: options)
    let shared = WriterShared(options: options, monotonic: monotonic)
    self.shared = shared
    queue = shared.queue
    counter = options.counter
    let handedOver = Mutex<SQLiteConnection?>(connection)
    let handlers = try HandlerThread(name: "writer-notifier")
    // The thread does not hold the writer, so that an unused writer is released.
    let thread = try NamedThread(name: "writer") {
      handedOver.withLock { connection in
        guard let own = connection.take() else { return }
        var groups = GroupCommit(own, shared, handlers)
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
  ///   - unit: Runs on the writer thread, in a transaction that it must not end. It must not begin
  ///     another one. It delays all other writes, so it must be quick.
  ///   - throwsUnwritten: Promises that the unit throws only before its first change, or because
  ///     its first writing statement failed. Such a unit needs no savepoint, which would cost as
  ///     much as a statement. If the unit breaks the promise, its whole group fails.
  ///   - owner: An owner whose units take long is throttled: units of other owners run first. If
  ///     too many throttled units wait, further ones fail with `PoolOverloadedError`.
  ///   - completion: The completion handler. It is called exactly once, on a thread of the writer,
  ///     when the unit is on disk or has failed. After a failed group, no unit runs until all its
  ///     handlers have been called. After a committed group, the next units may run at the same
  ///     time. The handler must be short and must not wait for the writer.
  /// - Throws: `PoolOverloadedError` if the queue is full, `PoolShutDownError` after `shutDown()`.
  ///   The unit then does not run, and `completion` is not called.
  @inlinable
  package func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (SQLiteConnection) throws -> Value,
    throwsUnwritten: Bool = false,
    of owner: WriteOwner? = nil,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    if let counter { return try submit(unit, throwsUnwritten, owner, counter, completion) }
    try queue.offer(
      WriteUnit(
        run: { connection in
          let value = try unit(connection)
          return { @Sendable in completion(.success(value)) }
        },
        fail: { completion(.failure($0)) },
        throwsUnwritten: throwsUnwritten,
        owner: owner
      )
    )
  }

  @usableFromInline
  func submit<Value: Sendable>(
    _ unit: @escaping @Sendable (SQLiteConnection) throws -> Value,
    _ throwsUnwritten: Bool,
    _ owner: WriteOwner?,
    _ counter: WorkCounter,
    _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    let complete = { @Sendable (result: Result<Value, any Error>) in
      completion(result)
      counter.end()
    }
    let run = { @Sendable (connection: SQLiteConnection) throws -> @Sendable () -> Void in
      let value = try unit(connection)
      return { complete(.success(value)) }
    }
    counter.begin()
    do {
      try queue.offer(
        WriteUnit(run: run, fail: { complete(.failure($0)) }, throwsUnwritten: throwsUnwritten, owner: owner)
      )
    } catch {
      counter.end()
      throw error
    }
  }

  /// Runs a unit and returns its value when its changes are on disk: see `submit`. A caller whose
  /// task is cancelled still waits, because the unit may be committed.
  @inlinable
  nonisolated(nonsending) package func write<Value: Sendable>(
    of owner: WriteOwner? = nil,
    _ unit: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await withCompletion { completion in
      try submit(unit, of: owner, completion: completion)
    }
  }

  package var statistics: Statistics {
    var statistics = shared.counters.withLock { $0 }
    statistics.waiting = queue.count
    return statistics
  }

  /// Accepts no more units. Returns when all completion handlers have been called and the
  /// connection is closed.
  ///
  /// Blocks its caller, so do not call it in a unit or a completion handler. A second call returns
  /// at once.
  package func shutDown() {
    stopAccepting()?.join()
  }

  /// Closes the queue and returns the thread, which the caller must join or detach.
  private func stopAccepting() -> NamedThread? {
    queue.close()
    return thread.withLock { $0.take() }
  }
}

/// The state that the writer thread shares with callers of the writer.
struct WriterShared: Sendable {
  let options: DatabaseWriter.Options
  let monotonic: @Sendable () -> Int64
  let queue: WorkQueue<WriteUnit>
  let counters = LockedState(DatabaseWriter.Statistics())
  let healthListener = FailureMonitor.Listener(nil)

  init(options: DatabaseWriter.Options, monotonic: @escaping @Sendable () -> Int64) {
    self.options = options
    self.monotonic = monotonic
    queue = WorkQueue(name: "writer", capacity: options.capacity)
  }
}
