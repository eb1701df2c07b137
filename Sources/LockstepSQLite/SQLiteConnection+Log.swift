import CLockstepSQLite

extension SQLiteConnection {
  /// How the log's contents are moved into the database file.
  enum Checkpoint {
    /// As far as that can be done without waiting for anybody.
    case passive
    /// Waiting for readers, as long as the busy timeout says, so that the next transaction starts the log from its
    /// beginning.
    case restart
    /// The same, and cutting the file to nothing.
    case truncate

    fileprivate var flag: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Moves what the log holds into the database file, outside any transaction, and syncs the file.
  ///
  /// Nothing is ever lost by it, nor by its failure: what was committed is in the log until it is in the file.
  ///
  /// - Returns: whether all of it was moved.
  @discardableResult
  func checkpoint(_ mode: Checkpoint) throws(SQLiteError) -> Bool {
    var inLog: Int32 = 0
    var moved: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(database.pointer, "main", mode.flag, &inLog, &moved)
    // Busy says that readers, or another checkpoint, kept it from going all the way.
    guard code == SQLITE_OK || code == SQLITE_BUSY else { throw database.lastError(sql: "PRAGMA wal_checkpoint") }
    return code == SQLITE_OK && inLog == moved
  }

  /// Moves all that the log holds into the database file and cuts the log to nothing. Whether that could be done.
  public func emptyLog() throws(SQLiteError) -> Bool { try checkpoint(.truncate) }

  /// Leaves it to the caller when the log is emptied: SQLite would do it by itself, in the midst of a commit. A file of
  /// more than so many pages is cut when the log starts anew.
  func keepLogByHand(pages: Int) throws {
    database.countLogPages()
    let pageSize = try first("PRAGMA page_size") { row in try row[0] as Int } ?? 4096
    try execute("PRAGMA journal_size_limit = \(pages * pageSize)")
  }

  /// Has the writer that owns this connection empty the log once the open transaction is on disk: what the transaction
  /// erased is in the log still, as it was written. Where somebody reads for long at that moment, it's tried again with
  /// later transactions.
  public func eraseLog() { isLogToBeErased = true }

  /// Whether `eraseLog()` was called and it hasn't been done yet.
  var isLogToBeErased: Bool {
    get { database.isLogToBeErased }
    set { database.isLogToBeErased = newValue }
  }

  /// How many pages the log held after the last commit of this connection, since it is kept by hand.
  var logPages: Int { database.logPages }
}
