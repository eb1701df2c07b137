import LockstepPostgreSQL

/// Finds commits of nodes that wait for a synchronous standby of the database.
enum StandbyWaits {
  /// Whether such a commit waits now.
  static func exist(in session: PostgreSQLSession) throws -> Bool {
    try session.connection.query(find, [.text("0 s")]).row(0).integer(at: 0) == 1
  }

  /// Whether such a commit has waited for more than 2 s. Then the standby has probably stopped.
  static func areLong(in session: PostgreSQLSession) throws -> Bool {
    try session.connection.query(find, [.text("2 s")]).row(0).integer(at: 0) == 1
  }

  private static let find = PostgreSQLStatement(
    """
    SELECT EXISTS (
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user
        AND wait_event = 'SyncRep' AND query_start < clock_timestamp() - $1::text::interval
    )::int
    """
  )
}
