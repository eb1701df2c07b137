import CLockstepSQLite

extension SQLiteConnection {
  /// Runs `body` in a transaction that may write from its beginning (`BEGIN IMMEDIATE`), and commits it.
  ///
  /// When this returns, all that `body` wrote is on disk. When it throws, be it from `body` or from the commit, nothing
  /// of it is. SQLite undoes a whole transaction on its own after some errors (a full disk, one of input and output):
  /// then this throws even where `body` caught the error, and whatever else `body` tries to run throws too.
  ///
  /// Transactions don't nest: within one, use `savepoint(_:)`.
  public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try begin()
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      undo()
      throw error
    }
  }

  /// Runs `body`, which only reads, so that all it reads is of one moment: that of its first statement. What others
  /// commit meanwhile it doesn't see, and it doesn't wait for them.
  public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try expectNoTransaction(for: "BEGIN")
    try run("BEGIN")
    defer { undo() }
    return try body()
  }

  /// Opens a transaction that may write from its beginning.
  func begin() throws(SQLiteError) {
    try expectNoTransaction(for: "BEGIN IMMEDIATE")
    try run("BEGIN IMMEDIATE")
    database.expectsTransaction = true
  }

  /// Commits the open transaction. After an error nothing of it is kept, but it may still have to be undone.
  func commit() throws(SQLiteError) {
    try expectTransaction(for: "COMMIT")
    database.expectsTransaction = false
    try run("COMMIT")
  }

  /// Runs `body` within the open transaction so that it can fail alone: when it throws, what it wrote is undone, and
  /// what the transaction wrote before it stays. Savepoints nest.
  ///
  /// Throws when no transaction is open, also because SQLite has just undone it: what `body` wrote would otherwise be
  /// committed by itself, statement for statement.
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    try expectTransaction(for: "SAVEPOINT unit")
    try run("SAVEPOINT unit")
    do {
      let result = try body()
      try expectTransaction(for: "RELEASE unit")
      try run("RELEASE unit")
      return result
    } catch {
      undoUnit()
      throw error
    }
  }

  /// Undoes the transaction. That fails only where SQLite has undone it already, and the first error is the one to tell.
  func undo() {
    database.expectsTransaction = false
    if isInTransaction { _ = try? run("ROLLBACK") }
  }

  /// Undoes the savepoint; where that fails, the whole transaction, so that half a unit is never committed.
  private func undoUnit() {
    guard isInTransaction else { return }
    do {
      try run("ROLLBACK TO unit")
      try run("RELEASE unit")
    } catch {
      undo()
    }
  }

  /// How many rows have been changed since the connection was opened, less those of statements that failed.
  var changedRowsInAll: Int64 { sqlite3_total_changes64(database.pointer) }

  /// What all units of a group are told where one broke its promise to throw before it writes.
  func halfWritten(_ error: any Error) -> SQLiteError {
    failure(SQLITE_ABORT, "a unit that promised to throw only before it writes has thrown after it: \(error)")
  }

  /// Throws where the open transaction leaves a foreign key that is looked at on COMMIT without its row.
  func expectWholeForeignKeys() throws(SQLiteError) {
    if unresolvedForeignKeys == 0 { return }
    throw failure(SQLITE_CONSTRAINT | (3 << 8), "FOREIGN KEY constraint failed", sql: "COMMIT")
  }

  private func expectNoTransaction(for sql: StaticString) throws(SQLiteError) {
    guard isInTransaction else { return }
    throw failure(
      SQLITE_MISUSE,
      "a transaction is open already: use a savepoint within it",
      sql: sql.description
    )
  }

  private func expectTransaction(for sql: StaticString) throws(SQLiteError) {
    if !isInTransaction { throw database.transactionGone(sql: sql.description) }
  }
}
