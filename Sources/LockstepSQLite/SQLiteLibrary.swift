import CLockstepSQLite

/// Settings of libsqlite3 for the whole process, which must precede its first use. If the process
/// has used it already, these settings have no effect, and it works as well but slower.
enum SQLiteLibrary {
  static let isSetUp: Bool = {
    // Memory statistics take a lock that all connections share, at each allocation: a twentieth of
    // the writer's time.
    let counting = lockstep_sqlite_configure(SQLITE_CONFIG_MEMSTATUS, 0)
    // Keeps the rollback data of savepoints in memory. Beyond 64 KiB it would go to a temporary
    // file, and a container may have no folder for these.
    let spilling = lockstep_sqlite_configure(SQLITE_CONFIG_STMTJRNL_SPILL, -1)
    return counting == SQLITE_OK && spilling == SQLITE_OK
  }()
}
