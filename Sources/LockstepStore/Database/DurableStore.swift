import Glibc
import LockstepSQLite
import LockstepSQLiteStore
import LockstepThreading
import LockstepTime

/// The database with everything that a server keeps.
///
/// An open store has the current schema, an id, one writer and a few readers. One server or command
/// at a time has it open. Any thread may use it, because SQLite runs on the store's own threads.
///
/// Close a store when it is no longer needed.
package final class DurableStore: Sendable {
  package struct Options: Sendable {
    /// How long to wait for an SQLite lock of another process.
    var busyTimeout: Duration
    /// About how long to wait until another server or command releases the store.
    var lockPatience: Duration
    var writer: DatabaseWriter.Options
    /// At least 1.
    var readingThreads: Int
    /// Counts the reads that have not ended. Nil: nothing counts them.
    var counter: WorkCounter?

    package init(
      busyTimeout: Duration = .seconds(5),
      lockPatience: Duration = .zero,
      writer: DatabaseWriter.Options = DatabaseWriter.Options(),
      readingThreads: Int = 2,
      counter: WorkCounter? = nil
    ) {
      self.busyTimeout = busyTimeout
      self.lockPatience = lockPatience
      self.writer = writer
      self.readingThreads = readingThreads
      self.counter = counter
    }
  }

  /// 32 random hexadecimal digits, created with the file and never changed.
  package let id: String
  /// The file, or the database and its host.
  package let name: String
  package let writer: StoreWriter
  package let readers: StoreReaders
  package let readingThreads: Int
  /// Identifies this run of the server among the nodes of a fleet.
  package let nodeID: String

  private let time: TimeSource
  /// Nil for a store in SQLite.
  private let connector: PostgreSQLConnector?
  /// Nil for a store in SQLite, which has no other nodes.
  package let feed: CommitFeed?
  /// Nil for a store in SQLite, whose one server counts in memory.
  package let attempts: AttemptCounter?
  /// The file of a store in SQLite.
  private let file: OpenStoreFile?
  private let check: CachedCheck<Result<Void, StoreError>>
  /// Nil for a store in SQLite.
  private let startWatch: StartWatch?

  /// Opens the store and migrates its schema. Creates the file if there is none, readable by its
  /// owner only (0600). Its folder must exist.
  ///
  /// Blocks its caller. A file that is refused stays unchanged. `random` makes a new store's id.
  package init(
    path: String,
    time: TimeSource = .system,
    options: Options = Options(),
    migrator: Migrator = Migrator(),
    random: some RandomNumberGenerator = SystemRandomNumberGenerator()
  ) throws(StoreError) {
    let newID = Self.identity(from: random)
    let now = time.millisecondsSince1970()
    name = path
    guard Self.canBeStore(path) else { throw .notAFile(path: path) }
    try Self.expectNoOrphanedWAL(of: path)
    let hasWAL = fileSize(Self.walPath(of: path)) > 0
    do {
      // Keeps the journal mode of the file for now. The database of another program must be refused
      // before it is switched to a WAL.
      let connection = try SQLiteConnection(storeAt: path, journal: .asFound, busyTimeout: options.busyTimeout)
      let identity = FileIdentity(path: path)
      let file = connection.resolvedPath
      try Self.expectWholePages(of: connection)
      self.file = OpenStoreFile(
        path: path,
        identity: identity,
        lock: LockedState(try StoreLock.take(store: file, patience: options.lockPatience))
      )
      // Overwrites deleted data, so that free pages contain nothing of an erased user. Debian's SQLite
      // does so by default, but others do not. Migrations delete data too.
      try connection.execute("PRAGMA secure_delete = ON")
      id = try migrator.migrate(connection, now: now) {
        try Self.findOrMakeIdentity(connection, newID: newID, now: now)
      }
      try connection.useWriteAheadLog()
      try Self.clearGaps(of: connection, now: now)
      // The last process may have ended before it erased the WAL.
      if hasWAL { connection.eraseWAL() }
      let flag = StateEventFlag(isSubscribed: try Self.hasStateWebhooks(.sqlite(connection)))
      let database = try DatabaseWriter(connection: connection, options: options.writer, monotonic: time.monotonic)
      let pool = try ReaderPool(
        path: file,
        threads: options.readingThreads,
        busyTimeout: options.busyTimeout,
        counter: options.counter
      )
      (writer, readers) = (StoreWriter(database, flag), StoreReaders(pool))
    } catch {
      // SQLite does not say that the file was truncated if the schema is on its last page.
      if (error as? SQLiteError)?.kind == .corrupt, endsWithinPage(path) { throw Self.truncated(path) }
      throw StoreError(thrown: error)
    }
    readingThreads = options.readingThreads
    self.time = time
    nodeID = Self.identity(from: random)
    connector = nil
    startWatch = nil
    feed = nil
    attempts = nil
    check = CachedCheck(lifetime: .seconds(1), elapsed: time.elapsed)
  }

  /// Opens the store in a PostgreSQL database, and migrates its schema. Blocks its caller. Tries for
  /// about `patience` to connect, because a database that starts with the server needs some time. A start
  /// that must write also waits for about `patience` for a synchronous standby. `onWait` gets the first failure.
  package init(
    postgreSQL connectionString: String,
    version: String = "",
    time: TimeSource = .system,
    readingThreads: Int = 3,
    patience: Duration = .seconds(30),
    onWait: @escaping @Sendable (any Error) -> Void = { _ in },
    migrator: Migrator = Migrator(),
    random: some RandomNumberGenerator = SystemRandomNumberGenerator()
  ) throws(StoreError) {
    do {
      let connector = try PostgreSQLConnector(connectionString, onWait: onWait)
      let session = try connector.connect(.migration, within: patience)
      name = PostgreSQLConnector.name(of: session.connection)
      // Before anything is changed. The connection for the start is replaced by that of one reader.
      let rest: [PostgreSQLConnector.Role] =
        [.writer, .units, .units, .feed, .longReader] + Array(repeating: .reader, count: readingThreads - 1)
      let needed = rest.count + 1
      try connector.open(rest, besides: 1, of: needed, within: patience)
      let startWatch = try StartWatch(connector, patience: patience, onWait: onWait)
      self.startWatch = startWatch
      do {
        id = try PostgreSQLMigrator(migrator).migrate(
          session,
          newID: Self.identity(from: random),
          now: time.millisecondsSince1970()
        )
      } catch {
        throw startWatch.reason(of: error)
      }
      connector.setTimeline(try DatabaseTimeline.read(session))
      session.connection.close()
      connector.setID(id)
      try connector.checkOpened()
      try connector.open([.reader], of: needed, within: patience)
      self.connector = connector
      nodeID = Self.identity(from: SystemRandomNumberGenerator())
      let node = CommitFeed.Node(id: nodeID, version: version, startedAt: time.millisecondsSince1970())
      let feed = try CommitFeed(connector, node: node)
      self.feed = feed
      readers = StoreReaders(try PostgreSQLReaders(connector, threads: readingThreads))
      let flag = StateEventFlag(isSubscribed: false)
      writer = StoreWriter(try PostgreSQLWriters(connector, feed: feed, flag: flag, time: time), flag)
      attempts = try AttemptCounter(connector, feed: feed)
    } catch {
      throw StoreError(thrown: error)
    }
    file = nil
    self.readingThreads = readingThreads
    self.time = time
    check = CachedCheck(lifetime: .seconds(1), elapsed: time.elapsed)
  }

  /// Begins to follow the commits of other nodes. Returns when everything in memory was compared with
  /// the store. In SQLite, there is no other node.
  package func follow(_ follower: any CommitFollower) throws(StoreError) {
    startWatch?.end()
    connector?.setFollower(follower)
    do {
      try connector?.checkOpened()
      try feed?.start(follower) { [writer, time] completion in
        let now = time.millisecondsSince1970()
        try? writer.submit({ try NodeUpkeep.run(in: $0, at: now) }, completion: completion)
      }
    } catch {
      throw StoreError(thrown: error)
    }
  }

  /// Writes a row and returns when it is on disk. In PostgreSQL, each of the two writers does so.
  ///
  /// At most one check a second runs. Callers that arrive while it runs, or within a second after
  /// it, share its outcome.
  nonisolated(nonsending) package func checkWritable() async throws(StoreError) {
    if let feed, !feed.lease.isHeld {
      if let length = feed.recentStandstill { throw .stoodStill(length) }
      throw .leaseIsOver(cause: feed.pending.failure)
    }
    let outcome = await check.outcome {
      do {
        try await writeCheck()
        return .success(())
      } catch {
        return .failure(StoreError(thrown: error))
      }
    }
    try outcome.get()
  }

  /// Runs a unit and blocks until its changes are on disk. For commands and for startup.
  package func write<Value: Sendable>(_ unit: @escaping @Sendable (StoreConnection) throws -> Value) throws -> Value {
    let outcome = LockedState<Result<Value, any Error>?>(nil)
    try writer.submit(unit) { result in
      outcome.withLock { $0 = result }
      outcome.wakeAll()
    }
    do { return try outcome.wait { $0 }.get() } catch { throw startWatch?.reason(of: error) ?? error }
  }

  /// From now on, the store does not wait for the database. Work that waits fails, and so does later work. Only the
  /// feed still waits, so that it can give up the lease. Call this if a server stops and `close()` takes too long.
  package func cancelWaits() { connector?.cancelWaits() }

  /// From now on, the feed does not wait for the database either. Call this after `cancelWaits()`.
  package func cancelFeed() { connector?.cancelFeed() }

  /// Finishes all accepted work, moves the WAL into the file and releases the store. After that,
  /// reads and writes throw `PoolShutDownError`, and `checkWritable()` throws `StoreError.closed`.
  package func close() {
    startWatch?.end()
    readers.shutDown()
    writer.shutDown()
    attempts?.shutDown()
    feed?.shutDown()
    connector?.closeOpened()
    file?.lock.withLock { $0 = nil }
  }

  nonisolated(nonsending) private func writeCheck() async throws {
    guard let file else { return try await writer.check { try CommitRows.check(in: $0) } }
    let now = time.millisecondsSince1970()
    let rows = try await writer.write { try $0.run("UPDATE store SET checked_at = ?", now) }
    if rows != 1 { throw StoreError.inconsistent(path: file.path, what: "the table store has \(rows) rows, not one") }
    // Writes to an open file still succeed after the file is deleted.
    if file.identity == nil || file.identity != FileIdentity(path: file.path) {
      throw StoreError.replaced(path: file.path)
    }
  }

  private static func findOrMakeIdentity(_ connection: SQLiteConnection, newID: String, now: Int64) throws -> String {
    if let id = try connection.first("SELECT id FROM store", transform: { row in try row[0] as String }) { return id }
    try connection.run("INSERT INTO store (only_row, id, created_at) VALUES (1, ?, ?)", newID, now)
    return newID
  }

  /// Clears the gaps of a store that an older version of Lockstep has written to. If a reader
  /// prevents that, the next start tries again.
  private static func clearGaps(of connection: SQLiteConnection, now: Int64) throws {
    // In tests that apply only the first migrations, this column does not exist.
    let columns = try connection.integer(
      "SELECT count(*) FROM pragma_table_info('store') WHERE name = 'gaps_cleared_at'"
    )
    guard columns == 1, try connection.integer("SELECT gaps_cleared_at IS NULL FROM store") == 1 else { return }
    guard try connection.clearGaps() else { return }
    try connection.run("UPDATE store SET gaps_cleared_at = ?", now)
  }

  private static func hasStateWebhooks(_ connection: StoreConnection) throws -> Bool {
    guard case .sqlite(let file) = connection else { return false }
    // In tests that apply only the first migrations, the table does not exist.
    guard try file.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'webhooks'") == 1 else { return false }
    return try WebhookRecords(connection: connection).isSubscribed(to: .stateChanged)
  }

  package static func identity(from random: some RandomNumberGenerator) -> String {
    var random = random
    return hexadecimal((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }
}

/// The file of a store that this process has open.
private struct OpenStoreFile {
  let path: String
  let identity: FileIdentity?
  /// Nil after the store was closed.
  let lock: LockedState<StoreLock?>
}

// MARK: - The file

extension DurableStore {
  /// Whether the path names a regular file, or nothing yet. SQLite would treat a device as an empty
  /// database.
  private static func canBeStore(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }

  /// Throws if the WAL exists without its store. SQLite would treat a missing or empty file as a
  /// new database, and delete the WAL. A Lockstep store never has a WAL before it has contents.
  private static func expectNoOrphanedWAL(of path: String) throws(StoreError) {
    // SQLite may make an empty file one byte long.
    if fileSize(path) <= 1, fileSize(walPath(of: path)) > 0 { throw .onlyWAL(path: path) }
  }

  /// Throws if the file does not end with a whole page. Such a file was truncated, and SQLite would
  /// read zeros for the missing bytes. Only a WAL that contains the page can repair that.
  private static func expectWholePages(of connection: SQLiteConnection) throws {
    let path = connection.resolvedPath
    let size = fileSize(path)
    guard size > 1, fileSize(path + "-wal") == 0 else { return }
    let page = try connection.integer("PRAGMA page_size")
    guard size % max(1, page) != 0 else { return }
    throw truncated(path)
  }

  private static func truncated(_ path: String) -> StoreError {
    .inconsistent(path: path, what: "its file was truncated: it ends in the middle of a page")
  }

  /// SQLite looks for the WAL beside the file itself, not beside a link to it.
  private static func walPath(of path: String) -> String {
    (realPath(path) ?? path) + "-wal"
  }
}
