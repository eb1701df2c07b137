import Glibc
import LockstepSQLite
import LockstepThreading
import LockstepTime

/// The one file in which everything lasts.
///
/// An open store has the schema that this program knows, an identity of its own, one writer and a few readers. One server
/// at a time has it open. It may be used from any thread: what blocks happens on threads of its own.
///
/// A store is to be closed.
public final class DurableStore: Sendable {
  /// Who this store is: 32 random hexadecimal digits, made with the file and never changed.
  public let id: String
  /// Writes.
  public let writer: DatabaseWriter
  /// Read.
  public let readers: ReaderPool
  /// How many threads read.
  package let readingThreads: Int

  private let path: String
  private let time: TimeSource
  /// Which file was opened.
  private let file: FileIdentity?
  /// Nil once closed.
  private let lock: LockedState<StoreLock?>
  private let check: CachedCheck<Result<Void, StoreError>>

  /// Opens the store and brings its schema up to date, or makes a new one where there is no file, for its owner only
  /// (0600).
  ///
  /// Blocks its caller: to be called before anything is served. A file that is refused is left as it was.
  ///
  /// - Parameters:
  ///   - path: The file. Its folder must exist.
  ///   - time: Where the time comes from.
  ///   - options: The bounds.
  ///   - migrator: The schema to bring it to.
  ///   - random: Where a new store's identity comes from: it must not repeat itself.
  /// - Throws: `StoreError`, whose description says what to do.
  public init(
    path: String,
    time: TimeSource = .system,
    options: Options = Options(),
    migrator: Migrator = Migrator(),
    random: some RandomNumberGenerator = SystemRandomNumberGenerator()
  ) throws(StoreError) {
    let newID = Self.identity(from: random)
    let now = time.millisecondsSince1970()
    guard Self.canBeStore(path) else { throw .notAFile(path: path) }
    try Self.expectNoOrphanedLog(of: path)
    do {
      // As found, so that another program's database is not even switched to a log before it is refused.
      let connection = try SQLiteConnection(path: path, journal: .asFound, busyTimeout: options.busyTimeout)
      file = FileIdentity(path: path)
      let file = connection.resolvedPath
      try Self.expectWholePages(of: connection)
      lock = LockedState(try StoreLock.take(store: file, patience: options.lockPatience))
      id = try migrator.migrate(connection, now: now) {
        try Self.findOrMakeIdentity(connection, newID: newID, now: now)
      }
      try connection.useWriteAheadLog()
      // What is deleted is overwritten, so that nothing of an erased user stays in the file's free space. Debian's SQLite
      // does so anyway, others don't.
      try connection.execute("PRAGMA secure_delete = ON")
      writer = try DatabaseWriter(connection: connection, options: options.writer, monotonic: time.monotonic)
      readers = try ReaderPool(
        path: file,
        threads: options.readingThreads,
        capacity: options.readingCapacity,
        busyTimeout: options.busyTimeout
      )
    } catch {
      throw Self.storeError(error)
    }
    readingThreads = options.readingThreads
    self.path = path
    self.time = time
    check = CachedCheck(lifetime: .seconds(1), elapsed: time.elapsed)
  }

  /// Returns when a transaction has just been written to the store's file and is on disk, or throws why it can't be.
  ///
  /// However many ask, at most one a second is written for it: who asks while one runs, or less than a second after it,
  /// is told the same.
  nonisolated(nonsending) public func checkWritable() async throws(StoreError) {
    let outcome = await check.outcome {
      do {
        try await write()
        return .success(())
      } catch {
        return .failure(Self.storeError(error))
      }
    }
    try outcome.get()
  }

  /// Ends readers and writer, waiting for all that they have accepted; the log is folded into the file, and another
  /// server may have it. From then on whoever wants to read or write is refused, and checks throw `closed`.
  public func close() {
    readers.shutDown()
    writer.shutDown()
    lock.withLock { $0 = nil }
  }

  /// Whether a file is there, or may be made there. SQLite would take a device for an empty database.
  private static func canBeStore(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }

  /// What a check writes.
  nonisolated(nonsending) private func write() async throws {
    let time = time
    let rows = try await writer.write { connection in
      try connection.run("UPDATE store SET checked_at = ?", time.millisecondsSince1970())
    }
    if rows != 1 { throw StoreError.inconsistent(path: path, what: "the table store has \(rows) rows, not one") }
    // An open file that was deleted can be written as if nothing had happened.
    if file == nil || file != FileIdentity(path: path) { throw StoreError.replaced(path: path) }
  }

  private static func findOrMakeIdentity(_ connection: SQLiteConnection, newID: String, now: Int64) throws -> String {
    if let id = try connection.first("SELECT id FROM store", transform: { row in try row[0] as String }) { return id }
    try connection.run("INSERT INTO store (only_row, id, created_at) VALUES (1, ?, ?)", newID, now)
    return newID
  }

  package static func identity(from random: some RandomNumberGenerator) -> String {
    var random = random
    return hexadecimal((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  private static func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as SQLiteError: .database(error)
    case let error as NamedThread.NotStarted: .noThread(error)
    case is WorkerPool.Overloaded: .overloaded
    case is WorkerPool.ShutDown: .closed
    // Nothing else is thrown above.
    default: .database(SQLiteError(extendedCode: 1, message: "\(error)", path: ""))
    }
  }
}
