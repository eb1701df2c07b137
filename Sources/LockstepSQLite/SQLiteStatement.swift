import CLockstepSQLite

/// A compiled SQL statement that can run many times, on its connection's thread.
///
/// Each run binds its values, steps through the rows and resets the statement. Between runs a
/// statement holds no lock, no snapshot and no bound values. The number of values must match the
/// statement's parameters (`?`); otherwise `begin` throws.
@usableFromInline
final class SQLiteStatement {
  let sql: String
  /// True from `begin` until `end()`.
  private(set) var isRunning = false
  /// The value of `StatementCache.uses` at the last use.
  var lastUse: UInt64 = 0

  private let database: DatabaseHandle
  /// The compiled statement: `init` throws if there is none, and only `deinit` finalizes it.
  let pointer: OpaquePointer
  /// Kept as long as the statement, because the cache identifies the SQL by this object's address.
  private let owner: SQLText?

  init(_ sql: String, database: DatabaseHandle, owner: SQLText? = nil) throws(SQLiteError) {
    self.sql = sql
    self.database = database
    self.owner = owner
    pointer = try database.compileOnly(sql)
  }

  deinit {
    sqlite3_finalize(pointer)
  }

  /// Starts a run with values whose number is known only at run time.
  func begin(with values: [SQLiteValue]) throws(SQLiteError) {
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

  @usableFromInline var row: SQLiteRow { SQLiteRow(of: self) }

  /// Starts a run, which the caller must end with `end()` unless this throws.
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
    try database.expectTransaction(for: sql)
    isRunning = true
  }

  @usableFromInline func expectParameters(_ count: Int32) throws(SQLiteError) {
    let expected = sqlite3_bind_parameter_count(pointer)
    if count != expected { throw error(SQLITE_MISUSE, "\(count) values for \(expected) parameters") }
  }

  /// Steps to the next row. Returns false after the last one.
  @usableFromInline func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.lastError(sql: sql)
    }
  }

  /// Releases the locks and the bound values. The result of `sqlite3_reset` is ignored, because it
  /// is the error that `step` has thrown.
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
      if code == SQLITE_RANGE {
        throw error(SQLITE_MISUSE, "more values than the statement's \(index - 1) parameters")
      }
      throw database.lastError(sql: sql)
    }
  }

  /// An error that is not from SQLite itself.
  func error(_ extendedCode: Int32, _ message: String) -> SQLiteError {
    database.error(extendedCode, message, sql: sql)
  }
}
