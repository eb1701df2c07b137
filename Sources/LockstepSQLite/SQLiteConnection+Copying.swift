import CLockstepSQLite

/// How far a copy of a database has come.
public struct CopyProgress: Sendable, Equatable {
  /// How many pages are copied.
  public let copied: Int
  /// How many there are.
  public let pages: Int
  /// How many bytes each has.
  public let pageSize: Int

  /// How far it has come, in bytes.
  public var copiedBytes: Int { copied * pageSize }
  /// How large the copy will be, in bytes.
  public var bytes: Int { pages * pageSize }
}

extension SQLiteConnection {
  /// Copies the whole database, as it is at one moment, into another one, whose contents are replaced.
  ///
  /// Others, of this process or another, may read and write the database meanwhile; what they commit after the copy has
  /// begun isn't in it. They don't wait for it. But as long as it runs the write-ahead log can't start from its beginning
  /// again, and grows by all that is written.
  ///
  /// SQLite's own way is to begin anew whenever somebody else has written, which on a busy store never ends. Here one read
  /// transaction is held from the first page to the last, so that there is nothing new to see.
  ///
  /// - Parameters:
  ///   - other: Where the copy goes, in no transaction. After an error nothing is left in it that was copied.
  ///   - stepPages: How many pages are copied at a time.
  ///   - afterStep: Called after each step, with nothing locked that others need: to pause, to show how far it is, or, by
  ///     throwing, to give up.
  /// - Throws: `SQLiteError`, and what `afterStep` throws.
  public func copy(
    to other: SQLiteConnection,
    stepPages: Int = 256,
    afterStep: (CopyProgress) throws -> Void = { _ in }
  ) throws {
    try snapshot {
      let pageSize = try first("PRAGMA page_size") { row in try row[0] as Int } ?? 4096
      // What begins the read transaction: BEGIN alone doesn't.
      _ = try first("SELECT 1 FROM sqlite_schema") { _ in true }
      guard let backup = sqlite3_backup_init(other.database.pointer, "main", database.pointer, "main") else {
        throw other.database.lastError(sql: nil)
      }
      var isFinished = false
      // Finished exactly once, and before either connection can be closed: both are held by this call.
      defer { if !isFinished { sqlite3_backup_finish(backup) } }
      while true {
        let code = sqlite3_backup_step(backup, Int32(clamping: max(1, stepPages)))
        guard code == SQLITE_OK || code == SQLITE_DONE else { throw copyError(code, to: other) }
        let pages = Int(sqlite3_backup_pagecount(backup))
        let left = Int(sqlite3_backup_remaining(backup))
        try afterStep(CopyProgress(copied: pages - left, pages: pages, pageSize: pageSize))
        if code == SQLITE_DONE { break }
      }
      isFinished = true
      let code = sqlite3_backup_finish(backup)
      if code != SQLITE_OK { throw copyError(code, to: other) }
    }
  }

  /// The error of a step: SQLite tells the code alone, and not of which of the two it speaks. What can't be read is the
  /// source's; all else is where the copy goes.
  private func copyError(_ code: Int32, to other: SQLiteConnection) -> SQLiteError {
    let isSource = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) || code == SQLITE_IOERR | (1 << 8)
    let message = sqlite3_errstr(code).map { String(cString: $0) } ?? "the copy failed"
    return SQLiteError(extendedCode: code, message: message, sql: "backup", path: isSource ? path : other.path)
  }

  /// Makes one file of the database, that needs nothing beside it: folds the write-ahead log into it, and has it keep
  /// none. Throws where somebody else has it open.
  public func leaveWriteAheadLog() throws {
    let mode = try first("PRAGMA journal_mode = DELETE") { row in try row[0] as String }
    guard mode == "delete" else {
      throw failure(SQLITE_BUSY, "the journal mode stayed \"\(mode ?? "")\"", sql: "PRAGMA journal_mode = DELETE")
    }
  }
}
