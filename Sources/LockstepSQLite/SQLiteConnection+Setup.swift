import CLockstepSQLite

extension SQLiteConnection {
  /// Switches the file to a write-ahead log permanently. Call this outside a transaction, on a
  /// connection that was opened with the journal mode `.asFound`. Throws on most network file
  /// systems, which do not support it.
  package func useWriteAheadLog() throws(SQLiteError) {
    let sql: StaticString = "PRAGMA journal_mode = WAL"
    let mode = try pragma(sql, as: String.self)
    guard mode == "wal" else {
      throw database.error(
        SQLITE_ERROR,
        "the journal mode stayed \"\(mode)\"; a write-ahead log needs a local disk, not a network file system",
        sql: sql.description
      )
    }
  }

  /// Applies the settings behind the guarantees of this type, and checks that they have taken
  /// effect, because SQLite ignores settings that it does not know.
  func configure(_ access: Access, _ journal: Journal) throws(SQLiteError) {
    setBusyTimeout(busyTimeout)
    // If this process may not write the file, SQLite opens it read-only, without an error. The
    // first read may then fail with a message that does not name the cause.
    if access == .readWriteCreate, sqlite3_db_readonly(database.pointer, "main") == 1 {
      throw database.error(SQLITE_READONLY, "this process may only read the file")
    }
    // Makes SQLite read the file now. Until the first query, SQLite does not.
    _ = try pragma("PRAGMA schema_version", as: Int.self)
    // Such a file also has pointer-map pages. A store could take them for pages of a b-tree, whose gaps it clears.
    guard try pragma("PRAGMA auto_vacuum", as: Int.self) == 0 else {
      throw database.error(
        SQLITE_ERROR,
        "the file uses auto_vacuum; turn it off with: sqlite3 FILE 'PRAGMA auto_vacuum = NONE; VACUUM'"
      )
    }
    try setSwitch(SQLITE_DBCONFIG_DEFENSIVE, on: true, name: "DEFENSIVE")
    try setSwitch(SQLITE_DBCONFIG_TRUSTED_SCHEMA, on: false, name: "TRUSTED_SCHEMA")
    try setSwitch(SQLITE_DBCONFIG_ENABLE_FKEY, on: true, name: "ENABLE_FKEY")
    try setSwitch(SQLITE_DBCONFIG_DQS_DML, on: false, name: "DQS_DML")
    try setSwitch(SQLITE_DBCONFIG_DQS_DDL, on: false, name: "DQS_DDL")
    try execute("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")
    #if canImport(Darwin)
      // Otherwise a commit may still be in the cache of the drive.
      try execute("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
    #endif
    try expect("PRAGMA synchronous", is: 2)
    try expect("PRAGMA cell_size_check", is: 1)
    try expect("PRAGMA temp_store", is: 2)
    // The inner pages of a large store fit in this cache, so that a look-up reads only the leaves.
    if access == .readOnly { try execute("PRAGMA cache_size = -8192") }
    if journal == .writeAheadLog { try useWriteAheadLog() }
  }

  /// The number of bytes in a page.
  package func pageSize() throws(SQLiteError) -> Int { try pragma("PRAGMA page_size", as: Int.self) }

  private func expect(_ sql: StaticString, is value: Int) throws(SQLiteError) {
    let found = try pragma(sql, as: Int.self)
    guard found == value else {
      throw database.error(SQLITE_ERROR, "the setting stayed \(found), not \(value)", sql: sql.description)
    }
  }

  package func pragma<Value: SQLiteConvertible>(_ sql: StaticString, as type: Value.Type) throws(SQLiteError) -> Value {
    do {
      if let value = try first(sql, transform: { row in try row[0] as Value }) { return value }
      throw database.error(SQLITE_ERROR, "the setting is unknown to this libsqlite3", sql: sql.description)
    } catch let error as SQLiteError {
      throw error
    } catch {
      throw database.error(SQLITE_ERROR, "\(error)", sql: sql.description)
    }
  }
}
