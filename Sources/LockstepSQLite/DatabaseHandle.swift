import CLockstepSQLite
import Glibc

/// An open database of libsqlite3, closed when nobody holds it any more.
///
/// The connection and each of its statements hold it, so that it can't be closed under a statement.
final class DatabaseHandle {
  /// Never null and open as long as this object lives: `init` throws otherwise, and only `deinit` closes it.
  let pointer: OpaquePointer
  let path: String
  /// Whether a transaction is to be open: a statement that finds none then must not run, since it would be committed by
  /// itself. SQLite undoes a transaction on its own after some errors, which its body may have passed over.
  var expectsTransaction = false
  /// Whether somebody wants nothing of what is in the log now to stay there.
  var isLogToBeErased = false
  /// How many pages the log held when this database last committed to it, once `countLogPages` was called.
  private(set) var logPages = 0

  init(path: String, access: SQLiteConnection.Access) throws(SQLiteError) {
    self.path = path
    _ = SQLiteLibrary.isSetUp
    if path.utf8.contains(0) {
      throw SQLiteError(extendedCode: SQLITE_CANTOPEN, message: "the path contains a NUL character", path: path)
    }
    if access == .readWriteCreate { try Self.createIfMissing(path) }
    pointer = try Self.open(Self.asFileName(path), Self.flags(access), path: path)
  }

  /// A database without a file, which goes with this object.
  init() throws(SQLiteError) {
    path = "a database in memory"
    _ = SQLiteLibrary.isSetUp
    pointer = try Self.open(":memory:", Self.flags(.readWriteCreate) | SQLITE_OPEN_MEMORY, path: path)
  }

  deinit {
    sqlite3_close_v2(pointer)
  }

  /// Counts the pages of the log from now on. SQLite then no longer empties the log by itself, in the midst of a commit.
  func countLogPages() {
    // The object is not retained: it closes the database before it goes, and SQLite calls only within its own calls on
    // this database, on the thread that owns it.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_wal_hook(
      pointer,
      { context, _, _, pages in
        guard let context else { return SQLITE_OK }
        Unmanaged<DatabaseHandle>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
        return SQLITE_OK
      },
      context
    )
  }

  /// Throws when a transaction is to be open and none is.
  func expectTransaction(for sql: @autoclosure () -> String) throws(SQLiteError) {
    if expectsTransaction, sqlite3_get_autocommit(pointer) != 0 { throw transactionGone(sql: sql()) }
  }

  /// The error of a statement that needs the transaction which SQLite has undone.
  func transactionGone(sql: String) -> SQLiteError {
    SQLiteError(
      extendedCode: SQLITE_ABORT | (2 << 8),
      message: "no transaction is open any more: all of it has been undone",
      sql: sql,
      path: path
    )
  }

  /// The error of the call that has just failed on this database.
  func lastError(sql: String?) -> SQLiteError {
    Self.lastError(of: pointer, sql: sql, path: path)
  }

  private static func lastError(of pointer: OpaquePointer, sql: String?, path: String) -> SQLiteError {
    let code = sqlite3_extended_errcode(pointer)
    // `sqlite3_errmsg` is never null for an open database; its text is copied before the next call can change it.
    var message = String(cString: sqlite3_errmsg(pointer))
    let systemError = sqlite3_system_errno(pointer)
    if systemError != 0, [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF) {
      message += ": \(String(cString: strerror(systemError)))"
    }
    return SQLiteError(extendedCode: code, message: message, sql: sql, path: path)
  }

  /// Opens what SQLite knows by this name; errors tell of `path`.
  private static func open(_ name: String, _ flags: Int32, path: String) throws(SQLiteError) -> OpaquePointer {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(name, &opened, flags, nil)
    guard let opened else { throw SQLiteError(extendedCode: code, message: text(of: code), path: path) }
    guard code == SQLITE_OK else {
      let error = lastError(of: opened, sql: nil, path: path)
      sqlite3_close_v2(opened)
      throw error
    }
    sqlite3_extended_result_codes(opened, 1)
    return opened
  }

  /// `NOMUTEX`: a connection is owned by one thread at a time, so SQLite's own lock would only cost.
  private static func flags(_ access: SQLiteConnection.Access) -> Int32 {
    switch access {
    case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    case .readOnly: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
    }
  }

  /// Makes an empty file, which is an empty database, that only its owner can read; SQLite would let everybody read it.
  ///
  /// `mknod`, because it opens nothing: closing a descriptor of a database drops the locks of every connection that
  /// this process has to it.
  private static func createIfMissing(_ path: String) throws(SQLiteError) {
    guard mknod(path, S_IFREG | 0o600, 0) != 0 else { return }
    let code = errno
    if code == EEXIST { return }
    throw SQLiteError(
      extendedCode: SQLITE_CANTOPEN,
      message: "cannot create the file: \(String(cString: strerror(code)))",
      path: path
    )
  }

  /// SQLite gives names like `:memory:` and `file:…` a meaning of their own; ours are names of files.
  private static func asFileName(_ path: String) -> String {
    path.hasPrefix("/") ? path : "./" + path
  }

  private static func text(of code: Int32) -> String {
    sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown error"
  }
}
