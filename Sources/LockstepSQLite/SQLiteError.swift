import CLockstepSQLite

/// An error of SQLite or of `LockstepSQLite`, with advice for the operator. It never contains bound
/// values, so it can be logged.
public struct SQLiteError: Error, Sendable, Equatable {
  /// The kinds of errors, by what a caller can do about them.
  public enum Kind: Sendable, Equatable {
    /// Another connection or process held the lock until the busy timeout.
    case busy
    /// The disk is full, or the database has reached its page limit.
    case full
    /// The file or the connection is read-only.
    case readOnly
    /// The file is damaged.
    case corrupt
    /// The file is not a database.
    case notADatabase
    /// The file could not be opened or created.
    case cannotOpen
    /// The disk or its file system failed.
    case inputOutput
    /// A constraint of the schema was violated.
    case constraint
    /// SQLite has rolled back the transaction.
    case rolledBack
    /// A column has another type than requested.
    case mismatch
    /// A bug in the calling code.
    case misuse
    /// Any other error, usually SQL that does not fit the schema.
    case other
  }

  /// SQLite's extended result code, with the primary one in its low byte.
  public let extendedCode: Int32
  /// SQLite's message.
  public let message: String
  /// The failed statement, if there was one.
  public let sql: String?
  /// The database file.
  public let path: String
  /// The number of the system's error (`errno`) that made SQLite fail; 0 if there was none.
  public let systemError: Int32

  /// An error with SQLite's extended result code.
  public init(extendedCode: Int32, message: String, sql: String? = nil, path: String, systemError: Int32 = 0) {
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
    self.path = path
    self.systemError = systemError
  }

  /// SQLite's primary result code.
  public var code: Int32 { extendedCode & 0xFF }

  /// The kind of error that the result code stands for.
  public var kind: Kind {
    switch code {
    case SQLITE_ABORT where extendedCode == SQLITE_ABORT | (2 << 8): .rolledBack
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .full
    case SQLITE_READONLY: .readOnly
    case SQLITE_CORRUPT: .corrupt
    case SQLITE_NOTADB: .notADatabase
    case SQLITE_CANTOPEN, SQLITE_PERM: .cannotOpen
    case SQLITE_IOERR: .inputOutput
    case SQLITE_CONSTRAINT: .constraint
    case SQLITE_MISMATCH: .mismatch
    case SQLITE_MISUSE, SQLITE_RANGE: .misuse
    default: .other
    }
  }

  static let foreignKeyViolation = SQLITE_CONSTRAINT | (3 << 8)

  package var isForeignKeyViolation: Bool { extendedCode == Self.foreignKeyViolation }

  /// Whether the disk or the file failed, and not the statement.
  public var isStoreFailure: Bool {
    switch kind {
    case .full, .readOnly, .corrupt, .notADatabase, .cannotOpen, .inputOutput: true
    default: false
    }
  }
}

extension SQLiteError: CustomStringConvertible {
  /// For example: `SQLite could not run "BEGIN IMMEDIATE" on /data/lockstep.db: database is locked
  /// (code 5). Another process …`.
  public var description: String {
    let what = sql.map { "run \"\(Self.shortened($0))\" on" } ?? "open"
    let sentences = "SQLite could not \(what) \(path): \(message) (code \(extendedCode))."
    return advice.map { "\(sentences) \($0)" } ?? sentences
  }

  private var advice: String? {
    switch kind {
    case .busy:
      "Another connection or process has locked the database: wait for it or end it, and try again."
    case .full:
      "The disk is full, or the database has reached its size limit. The transaction was rolled back. Free some space and "
        + "try again."
    case .readOnly where extendedCode == SQLITE_READONLY | (3 << 8):
      "The last writer crashed in the middle of a transaction, and a read-only connection cannot recover. Start the server once, and "
        + "try again."
    case .readOnly:
      "The database can be read but not written: check the permissions of the file and its folder, and whether the "
        + "disk is mounted read-only."
    case .corrupt:
      "The file is damaged: restore it from a backup, or recover its data with the sqlite3 shell's \".recover\"."
    case .notADatabase:
      "The file is not a SQLite database, or it is encrypted: name another file, or move this one away."
    case .cannotOpen:
      "Check that the folder exists, and that this process may read and write the file and its folder."
    case .inputOutput:
      "The disk or its file system failed: check the system's log before you use that disk again."
    case .rolledBack, .mismatch, .misuse, .constraint, .other:
      nil
    }
  }

  /// The error without its statement, a part of `configure`, unless that is the likely cause.
  var whileOpening: SQLiteError {
    kind == .other
      ? self : SQLiteError(extendedCode: extendedCode, message: message, path: path, systemError: systemError)
  }

  /// A statement on one line, cut after 200 characters.
  private static func shortened(_ sql: String) -> String {
    let words = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words.count > 200 ? words.prefix(200) + "…" : words
  }
}
