import CLockstepSQLite

extension SQLiteConnection {
  /// Switches the file to a write-ahead log, for good: the file remembers it. To be called outside a transaction, after
  /// opening a file `asFound`. Throws where the log can't be had, as on most network file systems.
  public func useWriteAheadLog() throws(SQLiteError) {
    let sql: StaticString = "PRAGMA journal_mode = WAL"
    let mode = try pragma(sql, as: String.self)
    guard mode == "wal" else {
      throw failure(
        SQLITE_ERROR,
        "the journal mode stayed \"\(mode)\"; a write-ahead log needs a local disk, network file systems can't keep one",
        sql: sql.description
      )
    }
  }

  /// Sets up what the type promises, and reads it back: SQLite passes over a setting that it doesn't know in silence.
  func configure(_ options: Options) throws(SQLiteError) {
    setBusyTimeout(options.busyTimeout)
    try readHeader(options.access)
    try turn(SQLITE_DBCONFIG_DEFENSIVE, on: true, name: "DEFENSIVE")
    try turn(SQLITE_DBCONFIG_TRUSTED_SCHEMA, on: false, name: "TRUSTED_SCHEMA")
    try turn(SQLITE_DBCONFIG_ENABLE_FKEY, on: true, name: "ENABLE_FKEY")
    try turn(SQLITE_DBCONFIG_DQS_DML, on: false, name: "DQS_DML")
    try turn(SQLITE_DBCONFIG_DQS_DDL, on: false, name: "DQS_DDL")
    try execute("PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")
    try expect("PRAGMA synchronous", is: 2)
    try expect("PRAGMA cell_size_check", is: 1)
    try expect("PRAGMA temp_store", is: 2)
    if options.journal == .writeAheadLog { try useWriteAheadLog() }
  }

  /// SQLite opens a file that it can't write as one to read, and reads it only when it has to. Both are found out here,
  /// the first before the second: reading may fail because something beside the file can't be written either, and what
  /// SQLite says of that helps nobody.
  private func readHeader(_ access: Access) throws(SQLiteError) {
    if access == .readWriteCreate, isReadOnly {
      throw failure(SQLITE_READONLY, "this process may only read the file")
    }
    _ = try pragma("PRAGMA schema_version", as: Int.self)
  }

  private func expect(_ sql: StaticString, is value: Int) throws(SQLiteError) {
    let found = try pragma(sql, as: Int.self)
    guard found == value else {
      throw failure(SQLITE_ERROR, "the setting stayed \(found), not \(value)", sql: sql.description)
    }
  }

  private func pragma<Value: SQLiteConvertible>(_ sql: StaticString, as type: Value.Type) throws(SQLiteError) -> Value {
    do {
      if let value = try first(sql, transform: { row in try row[0] as Value }) { return value }
      throw failure(SQLITE_ERROR, "the setting is unknown to this libsqlite3", sql: sql.description)
    } catch let error as SQLiteError {
      throw error
    } catch {
      throw failure(SQLITE_ERROR, "\(error)", sql: sql.description)
    }
  }
}
