import CLockstepSQLite

/// The progress of a copy.
public struct CopyProgress: Sendable, Equatable {
  /// The number of copied pages.
  public let copied: Int
  /// The total number of pages.
  public let pages: Int
  /// The number of bytes in a page.
  public let pageSize: Int

  /// The number of copied bytes.
  public var copiedBytes: Int { copied * pageSize }
  /// The size of the finished copy in bytes.
  public var bytes: Int { pages * pageSize }
}

extension SQLiteConnection {
  /// Replaces the contents of another database with a snapshot of this one.
  ///
  /// Other connections can read and write this database during the copy, without waiting. But the
  /// WAL cannot be reset until the copy ends, and grows by everything that is written. SQLite's
  /// backup would start again after each write of another connection. One read transaction around
  /// the whole copy prevents that.
  ///
  /// - Parameters:
  ///   - other: The destination, without an open transaction. After an error it holds no copied
  ///     data.
  ///   - stepPages: How many pages are copied at a time.
  ///   - afterStep: Called after each step, without locks: to pause, to show progress, or to stop
  ///     by throwing.
  /// - Throws: `SQLiteError`, and errors of `afterStep`.
  public func copy(
    to other: SQLiteConnection,
    stepPages: Int = 256,
    afterStep: (CopyProgress) throws -> Void = { _ in }
  ) throws {
    try snapshot {
      let pageSize = try pageSize()
      // Starts the read transaction: BEGIN alone does not.
      _ = try first("SELECT 1 FROM sqlite_schema") { _ in true }
      guard let backup = sqlite3_backup_init(other.database.pointer, "main", database.pointer, "main") else {
        throw other.database.lastError(sql: nil)
      }
      var isFinished = false
      // This call holds both connections, so neither can close before the backup is finished. It is
      // finished exactly once.
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

  /// The error of a step. SQLite does not say which database failed: read errors are the source's,
  /// all others the destination's.
  private func copyError(_ code: Int32, to other: SQLiteConnection) -> SQLiteError {
    let isSource = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) || code == SQLITE_IOERR | (1 << 8)
    let message = sqlite3_errstr(code).map { String(cString: $0) } ?? "the copy failed"
    return SQLiteError(extendedCode: code, message: message, sql: "backup", path: isSource ? path : other.path)
  }

  /// Turns the database into a single file without a WAL. Throws if another connection has it open.
  public func leaveWriteAheadLog() throws {
    let mode = try first("PRAGMA journal_mode = DELETE") { row in try row[0] as String }
    guard mode == "delete" else {
      throw database.error(
        SQLITE_BUSY,
        "the journal mode stayed \"\(mode ?? "")\"",
        sql: "PRAGMA journal_mode = DELETE"
      )
    }
  }
}
