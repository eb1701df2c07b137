import LockstepSQLite
import LockstepThreading

/// A pool of threads that read a database, each with its own read-only connection.
///
/// Long reads have a thread of their own, the long reader, so that short reads do not wait for them.
///
/// Each `read` sees everything that was committed before its first statement, and nothing later.
/// Readers and the writer do not wait for each other. But the WAL grows while a reader uses it,
/// because it cannot restart at its beginning. So keep reads short.
///
/// Shut a pool down before the writer. Then closing the writer moves the WAL into the database
/// file. A pool that is released instead finishes the reads that it accepted.
package final class ReaderPool: Sendable {
  /// How long a read takes, as far as its caller knows.
  package enum Length: Sendable {
    case short
    /// Over a millisecond.
    case long
  }

  private let short: ResourcePool<Reader>
  private let long: ResourcePool<Reader>
  /// Nil without a listener.
  let monitor = LockedState<FailureMonitor?>(nil)

  /// Starts `threads` threads for short reads, and the long reader. Each opens its connection to the
  /// file, which must exist, when it first reads. `capacity` is how many reads of each length may
  /// wait. `busyTimeout` rarely matters, because readers of a WAL rarely wait for a lock.
  package init(
    path: String,
    threads: Int = 2,
    capacity: Int = 4_096,
    busyTimeout: Duration = .seconds(5),
    counter: WorkCounter? = nil
  ) throws(NamedThread.NotStarted) {
    let reader = { @Sendable in Reader(path: path, busyTimeout: busyTimeout) }
    short = try ResourcePool(name: "reader", threads: threads, capacity: capacity, counter: counter, resource: reader)
    long = try ResourcePool(name: "long-reader", threads: 1, capacity: capacity, counter: counter, resource: reader)
  }

  /// How many reads wait to run.
  package var waiting: Int { short.waiting + long.waiting }

  /// Runs `body` on one of the threads, in a read transaction, which `body` must not end.
  ///
  /// Throws errors of `body`; `SQLiteError` if the file cannot be opened; `PoolOverloadedError` if
  /// the queue is full; `PoolShutDownError` after `shutDown()`.
  nonisolated(nonsending) package func read<Value: Sendable>(
    length: Length = .short,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await withCompletion { try submit(length: length, body, completion: $0) }
  }

  /// Queues `body` like `read`. `completion` is called once, on the reader thread.
  package func submit<Value: Sendable>(
    length: Length = .short,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    try submitWithoutSnapshot(
      length: length,
      { connection in try connection.snapshot { try body(connection) } },
      completion: completion
    )
  }

  /// Queues `body`, which opens its own snapshots (`SQLiteConnection.snapshot`), one after the
  /// other. `completion` is called once, on the reader thread.
  package func submitWithoutSnapshot<Value: Sendable>(
    length: Length = .short,
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) throws {
    let pool =
      switch length {
      case .short: short
      case .long: long
      }
    try pool.submit(
      { [monitor] reader in
        do {
          let value = try body(reader.open())
          monitor.withLock { $0?.noteSuccess() }
          return value
        } catch let error as SQLiteError where error.isStoreFailure {
          monitor.withLock { $0?.noteFailure(error) }
          throw error
        }
      },
      completion: completion
    )
  }

  /// Accepts no more reads. Returns when all accepted reads are done and the connections are
  /// closed. Blocks its caller, so do not call it in a read. A second call returns at once.
  package func shutDown() {
    short.shutDown()
    long.shutDown()
  }
}

/// A reader thread's connection, opened on demand.
private struct Reader {
  let path: String
  let busyTimeout: Duration
  var connection: SQLiteConnection?

  mutating func open() throws -> SQLiteConnection {
    let connection =
      try connection
      ?? SQLiteConnection(storeAt: path, access: .readOnly, journal: .asFound, busyTimeout: busyTimeout)
    self.connection = connection
    return connection
  }
}
