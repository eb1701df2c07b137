import CLockstepSQLite

/// A connection to one SQLite file.
///
/// The connection guarantees the following, or `init` throws:
///
/// - A commit is on disk when it returns (`synchronous=FULL`). With a WAL, readers never wait for
///   the writer.
/// - Foreign keys are enforced. A schema cannot call functions with side effects (`trusted_schema`
///   off). SQL that could corrupt the file is refused (`DEFENSIVE`). A misspelt name in double
///   quotes is an error, not a string.
/// - If the connection creates the file, only the file's owner can read it and the `-wal` and
///   `-shm` files beside it.
///
/// SQL is written as literals and values are bound to parameters, so text from outside cannot
/// become SQL. The only public exception is `execute(_:)`, for scripts.
///
/// A connection is not `Sendable`: one thread at a time owns it and its statements. Pass it on as
/// `sending`, or keep it in a `Mutex`. It is closed when it and all its statements are released.
public final class SQLiteConnection {
  /// How the file is opened.
  public enum Access: Sendable {
    /// Read and write. The file is created if it does not exist; its folder is not.
    case readWriteCreate
    /// Read only. The file must exist.
    case readOnly
  }

  /// The journal mode.
  public enum Journal: Sendable {
    /// A write-ahead log (WAL).
    case writeAheadLog
    /// The file's own mode: opening the file does not change it.
    case asFound
  }

  /// The path that was passed to `init`.
  public var path: String { database.path }

  /// The absolute path without symbolic links. The WAL file is beside it.
  public var resolvedPath: String {
    // SQLite owns the text while the database is open. It is copied here.
    sqlite3_db_filename(database.pointer, "main").map { String(cString: $0) } ?? path
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(database.pointer) == 0 }

  package let database: DatabaseHandle
  let busyTimeout: Duration
  var statements = StatementCache(capacity: 128)

  /// A new database in memory that is deleted with its connection.
  public static func inMemory() throws(SQLiteError) -> SQLiteConnection {
    try SQLiteConnection(DatabaseHandle(), .readWriteCreate, .asFound)
  }

  /// Opens a file, or throws if a guarantee cannot be given. The path always names a file, even
  /// `:memory:` or `file:x`. `busyTimeout` is how long a call waits for another connection's lock.
  public convenience init(
    path: String,
    access: Access = .readWriteCreate,
    journal: Journal = .writeAheadLog,
    busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    try self.init(path: path, access: access, journal: journal, busyTimeout: busyTimeout, fileSystem: nil)
  }

  /// Like the other initializer, and `fileSystem` is the name of a VFS of SQLite. Nil: SQLite's default.
  package convenience init(
    path: String,
    access: Access,
    journal: Journal,
    busyTimeout: Duration,
    fileSystem: String?
  ) throws(SQLiteError) {
    let database = try DatabaseHandle(path: path, access: access, fileSystem: fileSystem)
    try self.init(database, access, journal, busyTimeout)
  }

  private init(
    _ database: DatabaseHandle,
    _ access: Access,
    _ journal: Journal,
    _ busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    self.database = database
    self.busyTimeout = busyTimeout
    do throws(SQLiteError) {
      try configure(access, journal)
    } catch {
      throw error.whileOpening
    }
  }

  /// Starts a run of the statement, which is cached. The caller must end the run.
  @inlinable
  func begin<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value
  ) throws(SQLiteError) -> SQLiteStatement {
    let statement = try prepare(sql)
    try statement.begin(repeat each values)
    return statement
  }

  @usableFromInline
  func prepare(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
    try statements.statement(sql, database: database)
  }

  /// Runs the statement and ignores its rows.
  ///
  /// - Returns: The number of rows that an `INSERT`, `UPDATE` or `DELETE` changed, without those
  ///   that triggers and foreign keys changed. 0 for a statement that only reads; undefined for any
  ///   other.
  @discardableResult
  @inlinable
  public func run<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value
  ) throws(SQLiteError) -> Int {
    let statement = try begin(sql, repeat each values)
    defer { statement.end() }
    while try statement.step() {}
    return statement.changedRows
  }

  /// Runs the statement and passes each row to `body`.
  @inlinable
  public func forEach<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    body: (borrowing SQLiteRow) throws -> Void
  ) throws {
    let statement = try begin(sql, repeat each values)
    defer { statement.end() }
    while try statement.step() { try body(statement.row) }
  }

  /// Runs the statement and passes its rows to `body`, as long as `body` returns true.
  @inlinable
  package func forEachRow<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    while body: (borrowing SQLiteRow) throws -> Bool
  ) throws {
    let statement = try begin(sql, repeat each values)
    defer { statement.end() }
    while try statement.step(), try body(statement.row) {}
  }

  /// The same, but `body` owns each row.
  @inlinable
  package func forEachOwnedRow<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    while body: (consuming SQLiteRow) throws -> Bool
  ) throws {
    let statement = try begin(sql, repeat each values)
    defer { statement.end() }
    while try statement.step(), try body(statement.row) {}
  }

  /// Runs the statement and returns its rows, transformed and in order.
  @inlinable
  public func all<Result, each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> [Result] {
    var results: [Result] = []
    try forEach(sql, repeat each values) { row in results.append(try transform(row)) }
    return results
  }

  /// Runs the statement up to its first row. Returns the row, transformed, or nil if there is none.
  /// With `RETURNING`, SQLite makes all changes before it returns the first row.
  @inlinable
  public func first<Result, each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> Result? {
    let statement = try begin(sql, repeat each values)
    defer { statement.end() }
    return try statement.step() ? try transform(statement.row) : nil
  }

  /// Runs SQL that was made at run time, with one value for each parameter, and ignores its rows.
  package func run(_ sql: SQLText, _ values: [SQLiteValue]) throws {
    try forEach(sql, values) { _ in }
  }

  /// The same, but passes each row to `body`.
  package func forEach(_ sql: SQLText, _ values: [SQLiteValue], body: (borrowing SQLiteRow) throws -> Void) throws {
    let statement = try statements.statement(sql, database: database)
    try statement.begin(with: values)
    defer { statement.end() }
    while try statement.step() { try body(statement.row) }
  }

  /// Runs the statements of a script in order, up to the first failure. Rows are ignored. A failure
  /// rolls nothing back. The text must not come from outside.
  public func execute(_ script: String) throws(SQLiteError) {
    let text = [UInt8](script.utf8)
    var position = 0
    while position < text.count {
      try database.expectTransaction(for: database.excerpt(text, from: position))
      let step = try database.compile(text, from: position, isCached: false)
      if let statement = step.statement {
        defer { sqlite3_finalize(statement) }
        var code = SQLITE_ROW
        while code == SQLITE_ROW { code = sqlite3_step(statement) }
        if code != SQLITE_DONE {
          throw database.lastError(sql: database.excerpt([UInt8](text[..<step.end]), from: position))
        }
      }
      position = step.end
    }
  }

  /// Sets one of SQLite's switches, and checks that SQLite has set it.
  func setSwitch(_ option: Int32, on: Bool, name: String) throws(SQLiteError) {
    var now: Int32 = -1
    let code = lockstep_sqlite_switch(database.pointer, option, on ? 1 : 0, &now)
    if code != SQLITE_OK || now != (on ? 1 : 0) {
      throw database.error(SQLITE_ERROR, "this libsqlite3 cannot turn \(name) \(on ? "on" : "off")")
    }
  }

  package func withBusyTimeout<Result>(
    _ timeout: Duration,
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    setBusyTimeout(timeout)
    defer { setBusyTimeout(busyTimeout) }
    return try body()
  }

  func setBusyTimeout(_ timeout: Duration) {
    let milliseconds = timeout / .milliseconds(1)
    sqlite3_busy_timeout(database.pointer, Int32(min(max(milliseconds, 0), Double(Int32.max))))
  }
}
