import CLockstepSQLite

/// A compiled SQL statement that can run many times.
///
/// Each call binds its values, runs the statement and resets it. Between calls a statement holds no
/// lock, no snapshot and no bound values.
///
/// The number of values must match the statement's parameters (`?`); otherwise the call throws.
///
/// A statement belongs to its connection's thread. The file stays open until the connection and all
/// statements are released.
public final class SQLiteStatement {
  /// The statement's text.
  public let sql: String

  /// True within the closure that reads a row.
  private(set) var isRunning = false
  /// The cache's use counter at the last use.
  var lastUse: UInt64 = 0

  private let database: DatabaseHandle
  /// Valid as long as this object lives: `init` throws otherwise, and only `deinit` finalizes it.
  private let pointer: OpaquePointer
  /// Kept as long as the statement, because the cache knows it by its address.
  private let owner: SQLText?

  init(_ sql: String, database: DatabaseHandle, owner: SQLText? = nil) throws(SQLiteError) {
    self.sql = sql
    self.database = database
    self.owner = owner
    pointer = try StatementCompiler(database: database).compileOnly(sql)
  }

  deinit {
    sqlite3_finalize(pointer)
  }

  /// Runs the statement and ignores its rows.
  ///
  /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed, without those that
  ///   triggers and foreign keys changed. 0 for a statement that only reads; undefined for any
  ///   other statement.
  @discardableResult
  @inlinable
  public func run<each Value: SQLiteConvertible>(_ values: repeat each Value) throws(SQLiteError) -> Int {
    try begin(repeat each values)
    defer { end() }
    while try step() {}
    return changedRows
  }

  /// Runs the statement and passes each row to `body`, which must not run the same statement.
  @inlinable
  public func forEach<each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    body: (borrowing SQLiteRow) throws -> Void
  ) throws {
    try begin(repeat each values)
    defer { end() }
    while try step() { try body(row) }
  }

  /// Runs the statement and returns its rows, transformed and in order.
  @inlinable
  public func all<Result, each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> [Result] {
    var results: [Result] = []
    try forEach(repeat each values) { row in results.append(try transform(row)) }
    return results
  }

  /// Runs the statement up to its first row and returns it, transformed, or nil without a row.
  ///
  /// The statement is reset after the row. That is safe for `RETURNING`, which gives its rows after
  /// all changes.
  @inlinable
  public func first<Result, each Value: SQLiteConvertible>(
    _ values: repeat each Value,
    transform: (borrowing SQLiteRow) throws -> Result
  ) throws -> Result? {
    try begin(repeat each values)
    defer { end() }
    return try step() ? try transform(row) : nil
  }

  /// Runs the statement with as many values as its text has parameters, and ignores its rows.
  package func run(with values: [SQLiteValue]) throws(SQLiteError) {
    try begin(with: values)
    defer { end() }
    while try step() {}
  }

  /// Runs the statement with as many values as its text has parameters, and passes each row to `body`.
  package func forEach(with values: [SQLiteValue], body: (borrowing SQLiteRow) throws -> Void) throws {
    try begin(with: values)
    defer { end() }
    while try step() { try body(row) }
  }

  private func begin(with values: [SQLiteValue]) throws(SQLiteError) {
    try start()
    do throws(SQLiteError) {
      for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
      try expectParameters(Int32(values.count))
    } catch {
      end()
      throw error
    }
  }

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

  /// Whether there is another row.
  @usableFromInline func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.lastError(sql: sql)
    }
  }

  /// Releases the locks and the bound values. `sqlite3_reset` returns the error that `step` has
  /// thrown.
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
        // SQLite copies the `count` bytes before the closure returns.
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
      // SQLite would only say "column index out of range".
      if code == SQLITE_RANGE { throw misuse("more values than the statement's \(index - 1) parameters") }
      throw database.lastError(sql: sql)
    }
  }

  private func misuse(_ message: String) -> SQLiteError {
    SQLiteError(extendedCode: SQLITE_MISUSE, message: message, sql: sql, path: database.path)
  }
}
