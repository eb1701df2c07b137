import CLockstepSQLite
import LockstepSQLite

package struct CopyProgress: Sendable, Equatable {
  /// How many pages have been copied.
  package let copied: Int
  /// How many pages the database has.
  package let pages: Int
  /// The size of a page in bytes.
  package let pageSize: Int

  package var copiedBytes: Int { copied * pageSize }
  /// The size of the finished copy in bytes.
  package var bytes: Int { pages * pageSize }
}

extension SQLiteConnection {
  /// Replaces the contents of another database with a snapshot of this one.
  ///
  /// Other connections can read and write this database during the copy, without waiting. But until
  /// the copy ends, the WAL cannot restart at its beginning, so it grows with every write.
  ///
  /// `other` must have no open transaction. After an error, `other` contains no copied data.
  /// `afterStep` is called after every `stepPages` pages. It may pause, or throw to end the copy.
  package func copy(
    to other: SQLiteConnection,
    stepPages: Int = 256,
    afterStep: (CopyProgress) throws -> Void = { _ in }
  ) throws {
    // Without a read transaction, the backup would start again after each write of another
    // connection.
    try snapshot {
      let pageSize = try pageSize()
      // `BEGIN` alone does not start the read transaction.
      _ = try first("SELECT 1 FROM sqlite_schema") { _ in true }
      guard let backup = sqlite3_backup_init(other.database.pointer, "main", database.pointer, "main") else {
        throw other.database.lastError(sql: nil)
      }
      var isFinished = false
      // This call holds both connections, so neither can close before the backup is finished. The
      // backup is finished exactly once.
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

  /// The error of a step. SQLite does not say which database failed. So damage and read errors
  /// count as the source's, all other errors as the destination's.
  private func copyError(_ code: Int32, to other: SQLiteConnection) -> SQLiteError {
    let isSource = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) || code == SQLITE_IOERR | (1 << 8)
    let path = isSource ? path : other.path
    return SQLiteError(extendedCode: code, message: resultText(code), sql: "backup", path: path)
  }

  /// Turns the database into a single file without a WAL. Throws if another connection has it open.
  package func leaveWriteAheadLog() throws {
    let sql: StaticString = "PRAGMA journal_mode = DELETE"
    let mode = try pragma(sql, as: String.self)
    if mode != "delete" {
      throw database.error(SQLITE_BUSY, "the journal mode stayed \"\(mode)\"", sql: sql.description)
    }
  }
}
