import CLockstepSQLite
import LockstepSQLite

/// Runs a checkpoint each time the WAL has grown by a fixed number of pages.
///
/// By itself, SQLite runs checkpoints inside commits, which would delay the group's completion
/// handlers. Here a checkpoint runs after the handlers were called or passed to `HandlerThread`.
///
/// After a complete checkpoint, the next transaction writes at the start of the WAL again, unless a
/// reader uses the WAL at that moment. Overlapping readers could prevent this forever. So when the
/// WAL is many times its usual size, the checkpoint waits a short time for readers. New readers
/// then use the database file and do not prolong the wait.
struct WALCheckpointer {
  /// The checkpoint waits for readers if the WAL is this many times its usual size.
  static let tolerance = 8
  /// How many times the checkpoint is tried within the timeout.
  private static let attempts = 10
  /// The time between two attempts to erase the WAL, in nanoseconds, because each attempt delays
  /// writes.
  static let erasurePause: Int64 = 500_000_000

  private let connection: SQLiteConnection
  private let pages: Int
  private let timeout: Duration
  /// The number of pages in the WAL at the last checkpoint.
  private var last = 0
  /// When readers last prevented an erasure; nil if they have not.
  private var preventedErasure: Int64?

  /// Uses a connection that was prepared with `prepare(_:options:)`.
  init(_ connection: SQLiteConnection, options: DatabaseWriter.Options) {
    self.connection = connection
    pages = options.checkpointPages
    timeout = options.checkpointTimeout
  }

  /// Turns off SQLite's own checkpoints, and limits the size of the WAL file.
  static func prepare(_ connection: SQLiteConnection, options: DatabaseWriter.Options) throws {
    connection.database.countLogPages()
    // Twice the usual size, because readers often make the WAL a little longer, and a file that
    // need not grow is synced faster.
    let limit = try 2 * options.checkpointPages * connection.pageSize()
    try connection.execute("PRAGMA journal_size_limit = \(limit)")
  }

  /// Whether the WAL still contains deleted data that must leave it, even if nothing more is
  /// written.
  var mustErase: Bool { connection.database.mustEraseWAL }

  /// Whether a checkpoint is due after a commit.
  mutating func isDue(now: @autoclosure () -> Int64) -> Bool {
    let pagesNow = connection.database.logPages
    // The WAL has started from the beginning.
    if pagesNow < last { last = 0 }
    if pagesNow - last >= pages { return true }
    guard mustErase else { return false }
    return preventedErasure.map { now() - $0 >= Self.erasurePause } ?? true
  }

  /// Runs a checkpoint. After an error, the WAL grows until the next checkpoint is due.
  mutating func checkpoint(now: Int64) throws(SQLiteError) {
    last = connection.database.logPages
    if mustErase {
      // Until it succeeds, counts as prevented: an error must not lead to an endless loop.
      let attempts = preventedErasure == nil ? Self.attempts : 1
      preventedErasure = now
      guard try checkpointWithReaders(SQLITE_CHECKPOINT_TRUNCATE, attempts: attempts) else { return }
      if connection.database.mustClearFreePages {
        guard try connection.clearFreePages() else { return }
        connection.database.mustClearFreePages = false
      }
      // Otherwise later commits would write copies of deleted rows from cached pages to the WAL.
      connection.forgetPages()
      connection.database.mustEraseWAL = false
      preventedErasure = nil
    } else if last < pages * Self.tolerance {
      try connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    } else {
      _ = try checkpointWithReaders(SQLITE_CHECKPOINT_RESTART)
    }
  }

  /// Runs a checkpoint that waits for readers. Returns whether it was complete.
  ///
  /// In one attempt, SQLite waits until no reader uses a certain position of the WAL. If that is
  /// the end of the WAL, new readers use it too, and the wait may not end. So it tries again.
  private func checkpointWithReaders(_ mode: Int32, attempts: Int = Self.attempts) throws(SQLiteError) -> Bool {
    try connection.withBusyTimeout(timeout / Self.attempts) { () throws(SQLiteError) in
      for _ in 0..<attempts where try connection.checkpoint(mode) { return true }
      return false
    }
  }
}

extension SQLiteConnection {
  /// Moves the WAL's contents into the database file and syncs the file. Returns whether everything
  /// was moved. Call this outside a transaction. A failure loses nothing, because committed data
  /// stays in the WAL until it is in the file.
  @discardableResult
  func checkpoint(_ mode: Int32) throws(SQLiteError) -> Bool {
    var inLog: Int32 = 0
    var moved: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(database.pointer, "main", mode, &inLog, &moved)
    // `SQLITE_BUSY`: readers or another checkpoint prevented a complete checkpoint.
    guard code == SQLITE_OK || code == SQLITE_BUSY else { throw database.lastError(sql: "PRAGMA wal_checkpoint") }
    return code == SQLITE_OK && inLog == moved
  }

  /// Moves all of the WAL into the database file and truncates the WAL. Returns false if readers
  /// prevented that.
  package func truncateWAL() throws(SQLiteError) -> Bool { try checkpoint(SQLITE_CHECKPOINT_TRUNCATE) }

  /// Makes the writer truncate the WAL after the open transaction, because the WAL still contains
  /// what the transaction deleted. The checkpoint also clears the gap of each page that
  /// it moves: see `ClearingFileSystem`. If readers prevent that, the writer tries again twice a second
  /// until it succeeds.
  package func eraseWAL() { database.mustEraseWAL = true }

  /// Makes the writer truncate the WAL after the open transaction, and then overwrite the free pages
  /// of the file with zeros. Call this if only a part of the transaction was rolled back.
  ///
  /// If a statement uses a free page, SQLite does not save the page's contents before, because they
  /// mean nothing. So a rollback of the statement or of its savepoint does not restore them: the page
  /// is free again, but the transaction commits it with the text that was rolled back.
  func eraseFreePages() {
    database.mustClearFreePages = true
    eraseWAL()
  }
}
