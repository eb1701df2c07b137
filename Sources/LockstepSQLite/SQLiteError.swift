import CLockstepSQLite

/// Something that SQLite, or this layer on top of it, would not do: what, to which file, why, and what to do about it.
///
/// Bound values are never part of an error, so that it may be logged.
public struct SQLiteError: Error, Sendable, Equatable {
  /// The errors that need different things to be done.
  public enum Kind: Sendable, Equatable {
    /// Another connection or process holds the lock, and the busy timeout has passed.
    case busy
    /// No room on the disk, or in the database's own limit of pages.
    case full
    /// The file, or this connection, can only be read.
    case readOnly
    /// The file is damaged.
    case corrupt
    /// The file is something else.
    case notADatabase
    /// The file could not be opened or created.
    case cannotOpen
    /// The disk or its file system failed.
    case inputOutput
    /// A constraint of the schema would have been broken.
    case constraint
    /// The transaction was rolled back under the statement.
    case rolledBack
    /// A column held another kind of value than was asked for.
    case mismatch
    /// A call that the program must not make: a defect in it.
    case misuse
    /// Anything else, as a rule SQL that doesn't fit the schema.
    case other
  }

  /// SQLite's primary result code.
  public let code: Int32
  /// SQLite's extended result code: the primary one in its low byte, the details above it.
  public let extendedCode: Int32
  /// What SQLite said.
  public let message: String
  /// The statement that failed, where it was one.
  public let sql: String?
  /// The database's file.
  public let path: String

  /// An error with SQLite's extended code, from which the primary one follows.
  public init(extendedCode: Int32, message: String, sql: String? = nil, path: String) {
    code = extendedCode & 0xFF
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
    self.path = path
  }

  /// What has to be done differently.
  public var kind: Kind {
    switch extendedCode {
    case SQLITE_ABORT | (2 << 8): return .rolledBack
    default: break
    }
    return switch code {
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
}

extension SQLiteError {
  /// Whether it's the disk or the file that fails, and not the statement.
  public var isOfTheStore: Bool {
    switch kind {
    case .full, .readOnly, .corrupt, .notADatabase, .cannotOpen, .inputOutput: true
    default: false
    }
  }
}

extension SQLiteError: CustomStringConvertible {
  /// For example: `SQLite could not run "BEGIN IMMEDIATE" on /data/lockstep.db: database is locked (code 5). Another
  /// process …`.
  public var description: String {
    let what = sql.map { "run \"\(Self.shortened($0))\" on" } ?? "open"
    let sentences = "SQLite could not \(what) \(path): \(message) (code \(extendedCode))."
    return advice.map { "\(sentences) \($0)" } ?? sentences
  }

  /// What a person can do about it.
  private var advice: String? {
    switch kind {
    case .busy:
      "Another connection or process has locked the database: wait until it is done, or end it, and try again."
    case .full:
      "There is no room left on the disk, or the database has reached its own limit; nothing of the transaction was "
        + "kept. Free some space and try again."
    case .readOnly where extendedCode == SQLITE_READONLY | (3 << 8):
      "Whoever wrote it last was ended in the midst of it, and who only reads can't undo the half that was done: start a "
        + "server on it once, which does, and try again."
    case .readOnly:
      "The database can be read but not written: check the permissions of the file and its folder, and whether the "
        + "disk is mounted read-only."
    case .corrupt:
      "The file is damaged: restore it from a backup, or save what can be saved with the sqlite3 shell's \".recover\"."
    case .notADatabase:
      "The file is no SQLite database, or an encrypted one: name another file, or move this one out of the way."
    case .cannotOpen:
      "Check that the folder exists, and that this process may read and write the file and its folder."
    case .inputOutput:
      "The disk or its file system failed: look at the system's log before you trust that disk again."
    case .rolledBack, .mismatch, .misuse, .constraint, .other:
      nil
    }
  }

  /// The same error as a failure to open the file: which statement of the setup met it helps nobody, except where the
  /// statement itself was the trouble.
  var whileOpening: SQLiteError {
    kind == .other ? self : SQLiteError(extendedCode: extendedCode, message: message, path: path)
  }

  /// A statement on one line, cut where it stops helping to find it.
  private static func shortened(_ sql: String) -> String {
    let words = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words.count > 200 ? words.prefix(200) + "…" : words
  }
}
