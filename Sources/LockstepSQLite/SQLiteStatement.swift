import CLockstepSQLite

/// One statement of SQL, compiled once and run as often as you like.
///
/// Each call below is a whole: it binds, runs to the end and lets go. Between calls nothing stays open, so a statement
/// that is kept never holds a lock or a snapshot, and bound values don't stay in memory.
///
/// As many values are bound as the statement has parameters (`?`), in their order; anything else is an error, never a
/// silent NULL.
///
/// A statement belongs to its connection's thread, as the connection does. It may be kept longer than the connection:
/// the file stays open until both are gone.
public final class SQLiteStatement {
  /// The statement's text.
  public let sql: String

  /// Whether a call is running: true within the closure that is lent a row.
  private(set) var isRunning = false
  /// When the cache last handed it out, in the cache's own count.
  var lastUse: UInt64 = 0

  private let database: DatabaseHandle
  /// Compiled and not finalized as long as this object lives: `init` throws otherwise, and only `deinit` finalizes it.
  private let pointer: OpaquePointer

  init(_ sql: String, database: DatabaseHandle) throws(SQLiteError) {
    self.sql = sql
    self.database = database
    pointer = try StatementCompiler(database: database).compileOnly(sql)
  }

  deinit {
    sqlite3_finalize(pointer)
  }

  /// Runs the statement and passes over the rows it may give.
  ///
  /// - Returns: how many rows an INSERT, UPDATE or DELETE has changed, without those that triggers and foreign keys
  ///   changed; 0 for a statement that only reads; without meaning for any other.
  @discardableResult
  @inlinable
  public func run<each Value: SQLiteConvertible>(_ values: repeat each Value) throws(SQLiteError) -> Int {
    try begin(repeat each values)
    defer { end() }
    while try step() {}
    return changedRows
  }

  /// Runs the statement and gives each row to `body`, which must not run this same statement again.
  @inlinable
  public func forEach<each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    body: (borrowing SQLiteRow) throws -> Void
  ) throws {
    try begin(repeat each values)
    defer { end() }
    while try step() { try body(row) }
  }

  /// Runs the statement and returns what `transform` makes of its rows, in their order.
  @inlinable
  public func all<Result, each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> [Result] {
    var results: [Result] = []
    try forEach(repeat each values) { row in results.append(try transform(row)) }
    return results
  }

  /// Runs the statement up to its first row and returns what `transform` makes of it, or nil without a row.
  ///
  /// The statement is left there: one that writes may not have written all (`RETURNING` gives its rows when all is
  /// done, so that is safe).
  @inlinable
  public func first<Result, each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> Result? {
    try begin(repeat each values)
    defer { end() }
    return try step() ? try transform(row) : nil
  }

  /// How many rows the statement has just changed.
  @usableFromInline var changedRows: Int {
    sqlite3_stmt_readonly(pointer) != 0 ? 0 : Int(sqlite3_changes64(sqlite3_db_handle(pointer)))
  }

  @usableFromInline var row: SQLiteRow { SQLiteRow(statement: pointer, sql: sql, path: database.path) }

  @inlinable func begin<each Value: SQLiteConvertible>(_ values: repeat each Value) throws(SQLiteError) {
    try start()
    var count: Int32 = 0
    do throws(SQLiteError) {
      for value in repeat each values {
        count += 1
        try bind(value.sqliteValue, at: count)
      }
      try expectParameters(count)
    } catch {
      end()
      throw error
    }
  }

  @usableFromInline func start() throws(SQLiteError) {
    if isRunning { throw misuse("the statement is already running: its closure may not run it again") }
    try database.expectTransaction(for: sql)
    isRunning = true
  }

  @usableFromInline func expectParameters(_ count: Int32) throws(SQLiteError) {
    let expected = sqlite3_bind_parameter_count(pointer)
    if count != expected { throw misuse("\(count) values for \(expected) parameters") }
  }

  /// Takes one step; false at the end.
  @usableFromInline func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.lastError(sql: sql)
    }
  }

  /// Lets go of the rows, the locks and the values. What `sqlite3_reset` returns is the error that `step` has thrown.
  @usableFromInline func end() {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
    isRunning = false
  }

  @usableFromInline func bind(_ value: SQLiteValue, at index: Int32) throws(SQLiteError) {
    let code =
      switch value {
      case .null: sqlite3_bind_null(pointer, index)
      case .integer(let number): sqlite3_bind_int64(pointer, index, number)
      case .real(let number): sqlite3_bind_double(pointer, index, number)
      case .text(var text):
        // SQLite copies the `count` bytes before the closure returns, and with it the promise that they are there.
        text.withUTF8 { bytes in
          bytes.withMemoryRebound(to: CChar.self) { bytes in
            lockstep_sqlite_bind_text(pointer, index, bytes.baseAddress, UInt64(bytes.count))
          }
        }
      case .blob(let blob):
        // As above.
        blob.withUnsafeBytes { lockstep_sqlite_bind_blob(pointer, index, $0.baseAddress, UInt64($0.count)) }
      }
    guard code == SQLITE_OK else {
      // Too many values are told apart from other errors, since SQLite says only "column index out of range".
      if code == SQLITE_RANGE { throw misuse("more values than the statement's \(index - 1) parameters") }
      throw database.lastError(sql: sql)
    }
  }

  private func misuse(_ message: String) -> SQLiteError {
    SQLiteError(extendedCode: SQLITE_MISUSE, message: message, sql: sql, path: database.path)
  }
}
