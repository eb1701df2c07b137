import CLockstepSQLite

#if canImport(Darwin)
  import Darwin
  import Synchronization
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An open database of libsqlite3. The connection and each of its statements refer to it, so it
/// stays open as long as a statement exists.
package final class DatabaseHandle {
  /// The open database: `init` throws if it cannot open one, and only `deinit` closes it.
  package let pointer: OpaquePointer
  let path: String
  /// Whether a transaction should be open. If SQLite has rolled it back and the caller ignored the
  /// error, no further statement may run, because each would be committed on its own.
  var expectsTransaction = false
  /// Whether the writer of a store should truncate the WAL.
  package var mustEraseWAL = false
  /// Whether the writer of a store should also clear free pages.
  package var mustClearFreePages = false
  /// Pages in the WAL after this connection's last commit; 0 if `countLogPages()` was not called.
  package private(set) var logPages = 0

  init(path: String, access: SQLiteConnection.Access, fileSystem: String?) throws(SQLiteError) {
    self.path = path
    _ = SQLiteLibrary.isSetUp
    if path.utf8.contains(0) {
      throw SQLiteError(extendedCode: SQLITE_CANTOPEN, message: "the path contains a NUL character", path: path)
    }
    if access == .readWriteCreate { try Self.createIfMissing(path) }
    pointer = try Self.open(Self.asFileName(path), Self.flags(access), fileSystem, path: path)
  }

  /// A database in memory.
  init() throws(SQLiteError) {
    path = "a database in memory"
    _ = SQLiteLibrary.isSetUp
    pointer = try Self.open(":memory:", Self.flags(.readWriteCreate) | SQLITE_OPEN_MEMORY, nil, path: path)
  }

  deinit {
    sqlite3_close_v2(pointer)
  }

  /// Updates `logPages` from now on, and stops SQLite from running checkpoints within commits.
  package func countLogPages() {
    // SQLite need not retain this object: `deinit` closes the database, and SQLite calls the hook
    // only within calls on this database, on the thread that owns it.
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

  /// Throws if a transaction should be open but none is.
  func expectTransaction(for sql: @autoclosure () -> String) throws(SQLiteError) {
    if expectsTransaction, sqlite3_get_autocommit(pointer) != 0 { throw noTransaction(sql: sql()) }
  }

  /// The error of a statement that runs after SQLite has rolled back its transaction.
  package func noTransaction(sql: String) -> SQLiteError {
    error(SQLITE_ABORT | (2 << 8), "no transaction is open any more: it has been rolled back", sql: sql)
  }

  /// An error that is not from SQLite itself.
  package func error(_ extendedCode: Int32, _ message: String, sql: String? = nil) -> SQLiteError {
    SQLiteError(extendedCode: extendedCode, message: message, sql: sql, path: path)
  }

  /// The error of the call that has just failed on this database.
  package func lastError(sql: String?) -> SQLiteError {
    Self.lastError(of: pointer, sql: sql, path: path)
  }

  private static func lastError(of pointer: OpaquePointer, sql: String?, path: String) -> SQLiteError {
    let code = sqlite3_extended_errcode(pointer)
    // Never null for an open database. The text is copied before the next call can change it.
    var message = String(cString: sqlite3_errmsg(pointer))
    // After errors of other kinds, SQLite returns the number of an earlier call.
    let systemError = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF) ? sqlite3_system_errno(pointer) : 0
    if systemError != 0 { message += ": \(String(cString: strerror(systemError)))" }
    return SQLiteError(extendedCode: code, message: message, sql: sql, path: path, systemError: systemError)
  }

  /// Opens the database that SQLite knows by `name`. Errors show `path` instead.
  private static func open(
    _ name: String,
    _ flags: Int32,
    _ fileSystem: String?,
    path: String
  ) throws(SQLiteError) -> OpaquePointer {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(name, &opened, flags, fileSystem)
    guard let opened else { throw SQLiteError(extendedCode: code, message: resultText(code), path: path) }
    guard code == SQLITE_OK else {
      let error = lastError(of: opened, sql: nil, path: path)
      sqlite3_close_v2(opened)
      throw error
    }
    sqlite3_extended_result_codes(opened, 1)
    return opened
  }

  /// `NOMUTEX`: one thread at a time owns a connection, so SQLite's lock is not needed.
  private static func flags(_ access: SQLiteConnection.Access) -> Int32 {
    switch access {
    case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
    case .readOnly: SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
    }
  }

  /// If there is no file, creates an empty one, which is an empty database. Only its owner can read
  /// it; SQLite would let everyone read it.
  private static func createIfMissing(_ path: String) throws(SQLiteError) {
    let code = create(path)
    if [0, EEXIST].contains(code) { return }
    throw SQLiteError(
      extendedCode: SQLITE_CANTOPEN,
      message: "cannot create the file: \(String(cString: strerror(code)))",
      path: path,
      systemError: code
    )
  }

  /// Creates a file, and returns 0 or the number of the error. Closing a descriptor drops the locks that
  /// other connections of this process have on the file.
  private static func create(_ path: String) -> Int32 {
    #if canImport(Darwin)
      // Under the lock, no other connection can have opened the file before the descriptor is closed.
      creation.withLock { _ in
        let file = Darwin.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errno }
        close(file)
        return 0
      }
    #else
      // Opens no descriptor. On Darwin, only the superuser may call this.
      mknod(path, S_IFREG | 0o600, 0) == 0 ? 0 : errno
    #endif
  }

  #if canImport(Darwin)
    private static let creation = Mutex(())
  #endif

  /// SQLite gives names like `:memory:` and `file:…` a special meaning. Here they name files.
  private static func asFileName(_ path: String) -> String {
    path.hasPrefix("/") ? path : "./" + path
  }
}

/// SQLite's text for a result code.
package func resultText(_ code: Int32) -> String {
  sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown error"
}

/// Settings of libsqlite3 for the whole process. They must be set before its first use, because
/// they have no effect later.
package enum SQLiteLibrary {
  package static let isSetUp = configure()

  private static func configure() -> Bool {
    #if canImport(Darwin)
      // Other code of an app may use SQLite too, perhaps at this moment. So its settings stay as they are.
      return true
    #else
      // Turns off memory statistics. For them, each allocation takes a lock that all connections
      // share, which costs a twentieth of the writer's time.
      let counting = lockstep_sqlite_configure(SQLITE_CONFIG_MEMSTATUS, 0)
      // Keeps the rollback data of savepoints in memory. Beyond 64 KiB it would go to a temporary
      // file, and a container may have no folder for temporary files.
      let spilling = lockstep_sqlite_configure(SQLITE_CONFIG_STMTJRNL_SPILL, -1)
      return counting == SQLITE_OK && spilling == SQLITE_OK
    #endif
  }
}
