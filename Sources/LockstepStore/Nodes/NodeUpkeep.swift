import LockstepPostgreSQL

/// Deletes rows that no server needs any more. One server at a time does so.
enum NodeUpkeep {
  /// How many expired responses are deleted at a time.
  private static let limit = 1_000
  /// How many limits that are not in use any more are deleted at a time. They are small.
  private static let attempts = 20_000

  /// `now` is in milliseconds since 1970.
  static func run(in session: PostgreSQLSession, at now: Int64) throws {
    let connection = StoreConnection.postgreSQL(session)
    try session.transaction {
      let isAlone = try connection.first("SELECT pg_try_advisory_xact_lock(hashtext('lockstep upkeep'), 0)") {
        try $0[0] as Bool
      }
      guard isAlone == true else { return }
      try connection.run("DELETE FROM commits WHERE at < clock_timestamp() - ?::text::interval", CommitRows.lifetime)
      try connection.run(
        "DELETE FROM nodes WHERE lease_until < clock_timestamp() - ?::text::interval",
        NodeRecords.lifetime
      )
      try AttemptRecords.sweep(limit: Self.attempts, in: connection)
      try IdempotencyRecords(connection: connection).sweep(before: now - IdempotencyRecords.lifetime, limit: Self.limit)
    }
  }
}
