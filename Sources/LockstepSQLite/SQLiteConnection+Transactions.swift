import CLockstepSQLite

extension SQLiteConnection {
  /// Runs `body` in a transaction that may write from its beginning (`BEGIN IMMEDIATE`), and
  /// commits it.
  ///
  /// When this returns, all changes are on disk. When it throws, all changes are rolled back. After
  /// some errors, such as a full disk, SQLite rolls back the whole transaction on its own. Then
  /// this throws even if `body` caught the error, and so does every further statement in `body`.
  ///
  /// Transactions do not nest: within one, use `savepoint(_:)`.
  public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try begin()
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// The same, but a commit is not on disk when this returns. It survives the end of the process. If the system
  /// ends before a later transaction is on disk, this one and those after it may be lost, never only a part.
  package func transactionWithoutSync<Result>(_ body: () throws -> Result) throws -> Result {
    try run("PRAGMA synchronous = NORMAL")
    defer { restoreSync() }
    return try transaction(body)
  }

  /// Without a transaction, SQLite does not refuse this.
  private func restoreSync() { _ = try? run("PRAGMA synchronous = FULL") }

  /// Runs `body`, which only reads, on a consistent snapshot taken at its first statement. Readers
  /// and the writer do not wait for each other.
  public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try expectNoTransaction(for: "BEGIN")
    try run("BEGIN")
    defer { rollBack() }
    return try body()
  }

  package func begin() throws(SQLiteError) {
    try expectNoTransaction(for: "BEGIN IMMEDIATE")
    try run("BEGIN IMMEDIATE")
    database.expectsTransaction = true
  }

  /// If this throws, call `rollBack()`, because the transaction may still be open.
  package func commit() throws(SQLiteError) {
    try expectTransaction(for: "COMMIT")
    database.expectsTransaction = false
    try run("COMMIT")
  }

  /// Runs `body` within the open transaction so that it can fail alone: if it throws, only its
  /// changes are rolled back. Savepoints nest.
  ///
  /// Without a transaction, each statement of `body` would be committed on its own. So this throws
  /// if none is open, for example because SQLite has just rolled it back.
  @inlinable
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    try expectTransaction(for: "SAVEPOINT unit")
    try run("SAVEPOINT unit")
    do {
      let result = try body()
      try expectTransaction(for: "RELEASE unit")
      try run("RELEASE unit")
      return result
    } catch {
      rollBackSavepoint()
      throw error
    }
  }

  /// Rolls back the transaction, unless SQLite has done so already.
  package func rollBack() {
    database.expectsTransaction = false
    if isInTransaction { _ = try? run("ROLLBACK") }
  }

  /// Rolls back the savepoint, or the whole transaction if that fails, so that half a unit is never
  /// committed.
  @usableFromInline
  func rollBackSavepoint() {
    guard isInTransaction else { return }
    do {
      try run("ROLLBACK TO unit")
      try run("RELEASE unit")
    } catch {
      rollBack()
    }
  }

  /// How many rows this connection has changed since it was opened, except by failed statements.
  package var changedRowsInAll: Int64 { sqlite3_total_changes64(database.pointer) }

  /// Throws if the open transaction violates a deferred foreign key.
  package func checkForeignKeys() throws(SQLiteError) {
    var unresolved: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(database.pointer, SQLITE_DBSTATUS_DEFERRED_FKS, &unresolved, &highest, 0)
    if unresolved == 0 { return }
    throw database.error(SQLiteError.foreignKeyViolation, "FOREIGN KEY constraint failed", sql: "COMMIT")
  }

  private func expectNoTransaction(for sql: StaticString) throws(SQLiteError) {
    guard isInTransaction else { return }
    let message = "a transaction is open already: use a savepoint within it"
    throw database.error(SQLITE_MISUSE, message, sql: sql.description)
  }

  @usableFromInline
  func expectTransaction(for sql: StaticString) throws(SQLiteError) {
    if !isInTransaction { throw database.noTransaction(sql: sql.description) }
  }
}
