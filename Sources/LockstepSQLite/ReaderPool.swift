import LockstepThreading

/// A few threads that read a database, each with a read-only connection of its own, beside the one that writes.
///
/// What is read in one body is of one moment: whole transactions, none of them in part, and everything that was on disk
/// when the body began to read. Readers don't wait for the writer, nor it for them; but the log can't be emptied as long
/// as somebody reads from it, so a body doesn't dwell.
///
/// Readers should be shut down before the writer, which then folds the log into the file. Those that are just dropped
/// finish what they accepted.
public final class ReaderPool: Sendable {
  private let pool: ResourcePool<Reader>
  /// Nil while nobody is to be told.
  let watch = LockedState<ReaderFailureMonitor?>(nil)

  /// Starts the threads, named `name-1`, `name-2` and so on. Each opens its connection when it is first needed.
  ///
  /// - Parameters:
  ///   - path: The file, which must exist.
  ///   - name: What the threads and their errors are called.
  ///   - threads: How many bodies run at a time, at least 1.
  ///   - capacity: How many may wait beside those that run, at least 1.
  ///   - busyTimeout: How long to wait for a lock; readers of a write-ahead log need one only in rare moments.
  /// - Throws: `NamedThread.NotStarted` when the system has no more threads.
  public init(
    path: String,
    name: String = "reader",
    threads: Int = 2,
    capacity: Int = 4_096,
    busyTimeout: Duration = .seconds(5)
  ) throws(NamedThread.NotStarted) {
    let options = SQLiteConnection.Options(access: .readOnly, journal: .asFound, busyTimeout: busyTimeout)
    pool = try ResourcePool(name: name, threads: threads, capacity: capacity) { Reader(path: path, options: options) }
  }

  /// How many bodies wait now, beside those that run.
  public var waiting: Int { pool.waiting }

  /// Runs `body` on one of the threads. Whatever it reads is of one moment, not before this was called.
  ///
  /// - Parameter body: Reads, within a transaction that it must neither end nor nest. It can't write.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws; `SQLiteError` where the file can't be opened; `WorkerPool.Overloaded` when the queue
  ///   is full, `WorkerPool.ShutDown` after `shutDown()`.
  nonisolated(nonsending) public func read<Value: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await pool.run { [watch] reader in
      try ReaderFailureMonitor.note(in: watch) { try reader.read(body) }
    }
  }

  /// Accepts nothing more and returns when all that was accepted is done and the connections are closed.
  ///
  /// Blocks its caller, which must not be a body. A second call returns at once.
  public func shutDown() { pool.shutDown() }
}

/// What a reading thread has: its connection, once it was needed.
private struct Reader {
  let path: String
  let options: SQLiteConnection.Options
  private var connection: SQLiteConnection?

  init(path: String, options: SQLiteConnection.Options) {
    self.path = path
    self.options = options
  }

  mutating func read<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
    let connection = try connection ?? SQLiteConnection(path: path, options: options)
    self.connection = connection
    return try connection.snapshot { try body(connection) }
  }
}
