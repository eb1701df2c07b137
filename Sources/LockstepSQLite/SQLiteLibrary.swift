import CLockstepSQLite

/// What libsqlite3 lets be set only for a whole process, and only before it is first used.
///
/// Where it has been used already these calls change nothing, and all works as well, only slower.
enum SQLiteLibrary {
  /// Makes the settings, once, however many ask.
  static let isSetUp: Bool = {
    // Nobody asks SQLite how much memory it uses, and counting takes a lock that all connections share, at each
    // allocation: a twentieth of the writer's time.
    let counting = lockstep_sqlite_configure(SQLITE_CONFIG_MEMSTATUS, 0)
    // What a savepoint needs to be undone stays in memory: beyond 64 KiB it would go to a file in the system's folder for
    // temporary ones, which a container may not have.
    let spilling = lockstep_sqlite_configure(SQLITE_CONFIG_STMTJRNL_SPILL, -1)
    return counting == SQLITE_OK && spilling == SQLITE_OK
  }()
}
