import SQLite
import Synchronization
import Workers

/// The one file in which everything lasts.
///
/// An open store has the schema that this program knows, an identity of its own, and can be asked whether it can be
/// written. It may be used from any thread: what blocks happens on the workers that it was given.
public final class DurableStore: Sendable {
  /// Who this store is: 32 random hexadecimal digits, made with the file and never changed.
  public let id: String

  private let path: String
  private let workers: WorkerPool
  private let time: StoreTime
  /// Nil once closed. The lock is held while SQLite writes, and only ever waited for on a worker.
  private let connection: Mutex<Connection?>
  private let check: SharedCheck<Result<Void, StoreError>>

  /// Opens the store and brings its schema up to date, or makes a new one where there is no file, for its owner only
  /// (0600).
  ///
  /// Blocks its caller: to be called before anything is served. A file that is refused is left as it was.
  ///
  /// - Parameters:
  ///   - path: The file. Its folder must exist.
  ///   - workers: Where what blocks is done. The store doesn't shut them down.
  ///   - time: Where the time comes from.
  ///   - busyTimeout: How long to wait for a lock that another process holds.
  ///   - migrator: The schema to bring it to.
  ///   - random: Where a new store's identity comes from: it must not repeat itself.
  /// - Throws: `StoreError`, whose description says what to do.
  public init(
    path: String,
    workers: WorkerPool,
    time: StoreTime = .system,
    busyTimeout: Duration = .seconds(5),
    migrator: Migrator = Migrator(),
    random: some RandomNumberGenerator = SystemRandomNumberGenerator()
  ) throws(StoreError) {
    let newID = Self.identity(from: random)
    let now = time.millisecondsSince1970()
    do {
      // As found, so that another program's database is not even switched to a log before it is refused.
      let connection = try Connection(path: path, options: .init(journal: .asFound, busyTimeout: busyTimeout))
      id = try migrator.migrate(connection, now: now) {
        try Self.findOrMakeIdentity(connection, newID: newID, now: now)
      }
      try connection.useWriteAheadLog()
      self.connection = Mutex(connection)
    } catch {
      throw Self.storeError(error)
    }
    self.path = path
    self.workers = workers
    self.time = time
    check = SharedCheck(lifetime: .seconds(1), elapsed: time.elapsed)
  }

  /// Returns when a transaction has just been written and is on disk, or throws why it can't be.
  ///
  /// However many ask, at most one transaction a second is written for it: who asks while one runs, or less than a
  /// second after it, is told the same.
  nonisolated(nonsending) public func checkWritable() async throws(StoreError) {
    let outcome = await check.outcome {
      do {
        try await workers.run { try self.write() }
        return .success(())
      } catch {
        return .failure(Self.storeError(error))
      }
    }
    try outcome.get()
  }

  /// Closes the file, waiting for a check that runs; the log is folded into it. From then on checks throw `closed`.
  public func close() {
    connection.withLock { $0 = nil }
  }

  /// What a check writes.
  private func write() throws {
    let now = time.millisecondsSince1970()
    try connection.withLock { connection in
      guard let connection else { throw StoreError.closed }
      let rows = try connection.transaction { try connection.run("UPDATE store SET checked_at = ?", now) }
      if rows != 1 { throw StoreError.inconsistent(path: path, what: "the table store has \(rows) rows, not one") }
    }
  }

  private static func findOrMakeIdentity(_ connection: Connection, newID: String, now: Int64) throws -> String {
    if let id = try connection.first("SELECT id FROM store", transform: { row in try row[0] as String }) { return id }
    try connection.run("INSERT INTO store (only_row, id, created_at) VALUES (1, ?, ?)", newID, now)
    return newID
  }

  private static func identity(from random: some RandomNumberGenerator) -> String {
    var random = random
    return hexadecimal((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  private static func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as SQLiteError: .database(error)
    case is WorkerPool.Overloaded: .overloaded
    case is WorkerPool.ShutDown: .closed
    // Nothing else is thrown above.
    default: .database(SQLiteError(extendedCode: 1, message: "\(error)", path: ""))
    }
  }
}
