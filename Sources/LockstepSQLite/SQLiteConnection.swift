import CLockstepSQLite

/// A connection to one SQLite file.
///
/// What it guarantees, or `init` throws:
///
/// - A commit is on disk when it returns (`synchronous=FULL`), and readers never wait for the writer (WAL).
/// - Foreign keys hold; a schema can't call functions with side effects (`trusted_schema` off); SQL can't corrupt the
///   file on purpose (`DEFENSIVE`); a misspelt name in double quotes is an error, not a string.
/// - A file that it makes can be read by its owner only, and so can the `-wal` and `-shm` files beside it.
///
/// SQL is written as literals, and values reach it through parameters only: text from outside can't become SQL.
/// `execute(_:)` is the one exception, for scripts.
///
/// A connection is not `Sendable`: one thread at a time owns it, with its statements. Hand it over as `sending`, or
/// keep it in a `Mutex`. It is closed when it and all its statements are gone.
public final class SQLiteConnection {
  /// What may be done with the file.
  public enum Access: Sendable {
    /// Read and write; the file is made if it doesn't exist, its folder is not.
    case readWriteCreate
    /// Read only; the file must exist.
    case readOnly
  }

  /// How the file keeps a transaction until it is whole.
  public enum Journal: Sendable {
    /// In a log beside the file (WAL).
    case writeAheadLog
    /// As the file was found: nothing in it is changed by opening it. For looking at a file before deciding what it is.
    case asFound
  }

  /// How to open a file.
  public struct Options: Sendable {
    /// What may be done with the file. Default: read, write and create.
    public var access: Access
    /// How the file keeps a transaction until it is whole. Default: write-ahead log.
    public var journal: Journal
    /// How long a call waits, on its thread, for the lock of another connection before it throws. Default: 5 seconds.
    public var busyTimeout: Duration
    /// How many compiled statements are kept, at least 1. Default: 128.
    public var statementCapacity: Int

    /// Options with their defaults.
    public init(
      access: Access = .readWriteCreate,
      journal: Journal = .writeAheadLog,
      busyTimeout: Duration = .seconds(5),
      statementCapacity: Int = 128
    ) {
      self.access = access
      self.journal = journal
      self.busyTimeout = busyTimeout
      self.statementCapacity = statementCapacity
    }
  }

  /// The file, as `init` was given it.
  public var path: String { database.path }

  /// The file, as SQLite found it: an absolute path without symbolic links. The log lies beside it.
  public var resolvedPath: String {
    // SQLite owns the text, which lasts as long as the database is open; it is copied here.
    sqlite3_db_filename(database.pointer, "main").map { String(cString: $0) } ?? path
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { sqlite3_get_autocommit(database.pointer) == 0 }

  let database: DatabaseHandle
  private let busyTimeout: Duration
  private(set) var statements: StatementCache

  /// A new, empty database that is nowhere but in memory, and gone with its connection: to try out what a script makes.
  public static func inMemory() throws(SQLiteError) -> SQLiteConnection {
    try SQLiteConnection(DatabaseHandle(), Options(journal: .asFound))
  }

  /// Opens the file and sets it up. The path is always that of a file, even `:memory:` or `file:x`.
  public convenience init(path: String, options: Options = Options()) throws(SQLiteError) {
    try self.init(DatabaseHandle(path: path, access: options.access), options)
  }

  private init(_ database: DatabaseHandle, _ options: Options) throws(SQLiteError) {
    self.database = database
    busyTimeout = options.busyTimeout
    statements = StatementCache(capacity: options.statementCapacity)
    do throws(SQLiteError) {
      try configure(options)
    } catch {
      throw error.whileOpening
    }
  }

  /// The statement, compiled now or taken from the cache. Keep it where even looking it up would cost too much.
  public func prepare(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
    try statements.statement(sql, database: database)
  }

  /// Runs the statement: see `SQLiteStatement.run`.
  @discardableResult
  @inlinable
  public func run<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value
  ) throws(SQLiteError) -> Int {
    try prepare(sql).run(repeat each values)
  }

  /// Runs the statement and gives each row to `body`.
  @inlinable
  public func forEach<each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    body: (borrowing SQLiteRow) throws -> Void
  ) throws {
    try prepare(sql).forEach(repeat each values, body: body)
  }

  /// Runs the statement and returns what `transform` makes of its rows, in their order.
  @inlinable
  public func all<Result, each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> [Result] {
    try prepare(sql).all(repeat each values, transform: transform)
  }

  /// Runs the statement up to its first row and returns what `transform` makes of it: see `SQLiteStatement.first`.
  @inlinable
  public func first<Result, each Value: SQLiteConvertible>(
    _ sql: StaticString,
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> Result? {
    try prepare(sql).first(repeat each values, transform: transform)
  }

  /// Runs all statements of a script, one after the other, up to the first that fails; rows are passed over.
  ///
  /// Nothing is undone on failure, unless the caller has opened a transaction. The text must not come from outside.
  public func execute(_ script: String) throws(SQLiteError) {
    let compiler = StatementCompiler(database: database)
    let text = [UInt8](script.utf8)
    var position = 0
    while position < text.count {
      try database.expectTransaction(for: compiler.excerpt(text, from: position))
      let step = try compiler.compile(text, from: position, kept: false)
      if let statement = step.statement {
        defer { sqlite3_finalize(statement) }
        var code = SQLITE_ROW
        while code == SQLITE_ROW { code = sqlite3_step(statement) }
        if code != SQLITE_DONE {
          throw database.lastError(sql: compiler.excerpt([UInt8](text[..<step.end]), from: position))
        }
      }
      position = step.end
    }
  }

  /// An error that this layer found, not SQLite.
  func failure(_ extendedCode: Int32, _ message: String, sql: String? = nil) -> SQLiteError {
    SQLiteError(extendedCode: extendedCode, message: message, sql: sql, path: path)
  }

  /// Turns one of SQLite's switches, and makes sure that it has turned.
  func turn(_ option: Int32, on: Bool, name: String) throws(SQLiteError) {
    var now: Int32 = -1
    let code = lockstep_sqlite_switch(database.pointer, option, on ? 1 : 0, &now)
    if code != SQLITE_OK || now != (on ? 1 : 0) {
      throw failure(SQLITE_ERROR, "this libsqlite3 cannot turn \(name) \(on ? "on" : "off")")
    }
  }

  /// Runs `body` with another busy timeout than the connection's own.
  func withBusyTimeout<Result>(
    _ timeout: Duration,
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    setBusyTimeout(timeout)
    defer { setBusyTimeout(busyTimeout) }
    return try body()
  }

  /// Lets SQLite wait for a lock.
  func setBusyTimeout(_ timeout: Duration) {
    let milliseconds = timeout / .milliseconds(1)
    sqlite3_busy_timeout(database.pointer, Int32(min(max(milliseconds, 0), Double(Int32.max))))
  }

  /// Whether SQLite can only read the file, be it that it was asked to or that it had to.
  var isReadOnly: Bool { sqlite3_db_readonly(database.pointer, "main") == 1 }

  /// Not 0 while the open transaction breaks foreign keys that are looked at on COMMIT.
  var unresolvedForeignKeys: Int32 {
    var now: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(database.pointer, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &highest, 0)
    return now
  }
}
