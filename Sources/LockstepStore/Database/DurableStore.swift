import Glibc
import LockstepSQLite
import LockstepThreading
import LockstepTime

/// The database with everything that a server keeps.
///
/// An open store has the current schema, an id, one writer and a few readers. One server at a time has it open. It can be
/// used from any thread: blocking work happens on its own threads.
///
/// Close a store when it is no longer needed.
public final class DurableStore: Sendable {
  /// 32 random hexadecimal digits, created with the file and never changed.
  public let id: String
  /// The writer.
  public let writer: DatabaseWriter
  /// The readers.
  public let readers: ReaderPool
  /// The number of reader threads.
  package let readingThreads: Int

  private let path: String
  private let time: TimeSource
  /// The file that was opened.
  private let file: FileIdentity?
  /// Nil once closed.
  private let lock: LockedState<StoreLock?>
  private let check: CachedCheck<Result<Void, StoreError>>

  /// Opens the store and migrates its schema. Creates the file if there is none, readable by its owner only (0600).
  ///
  /// Blocks its caller. If it throws, the file is unchanged.
  ///
  /// - Parameters:
  ///   - path: The file. Its folder must exist.
  ///   - time: The clocks.
  ///   - options: The limits.
  ///   - migrator: The schema.
  ///   - random: Makes the id of a new store.
  /// - Throws: `StoreError`, which says what to do.
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
    try Self.expectNoOrphanedWAL(of: path)
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
      // Deleted data is overwritten, so that the file's free space contains nothing of an erased user. This is the default of
      // Debian's SQLite, but not of others.
      try connection.execute("PRAGMA secure_delete = ON")
      writer = try DatabaseWriter(connection: connection, options: options.writer, monotonic: time.monotonic)
      readers = try ReaderPool(
        path: file,
        threads: options.readingThreads,
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

  /// Writes a row and returns when it is on disk.
  ///
  /// At most one check a second runs. Callers that arrive while it runs, or within a second after it, share its outcome.
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

  /// Finishes all accepted work, moves the WAL into the file and releases the store for another server. After that, reads and
  /// writes throw `PoolShutDownError`, and checks throw `StoreError.closed`.
  public func close() {
    readers.shutDown()
    writer.shutDown()
    lock.withLock { $0 = nil }
  }

  /// Whether the path is a regular file or free. SQLite would take a device for an empty database.
  private static func canBeStore(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }

  nonisolated(nonsending) private func write() async throws {
    let time = time
    let rows = try await writer.write { connection in
      try connection.run("UPDATE store SET checked_at = ?", time.millisecondsSince1970())
    }
    if rows != 1 { throw StoreError.inconsistent(path: path, what: "the table store has \(rows) rows, not one") }
    // Writes to an open file still succeed after the file is deleted.
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
    case is PoolOverloadedError: .overloaded
    case is PoolShutDownError: .closed
    // No other error is thrown above.
    default: .database(SQLiteError(extendedCode: 1, message: "\(error)", path: ""))
    }
  }
}
