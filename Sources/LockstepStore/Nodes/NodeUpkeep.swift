import LockstepPostgreSQL

/// Deletes rows that no node needs any more. One node at a time does so.
enum NodeUpkeep {
  struct Outcome: Sendable {
    /// Whether there are more rows to delete.
    var isPart = false
    var databaseBytes = 0
  }

  /// How many expired responses are deleted at a time.
  private static let limit = 1_000
  /// How many limits that are not in use any more are deleted at a time. They are small.
  private static let attempts = 20_000

  /// Runs in a transaction of its own. `now` is in milliseconds since 1970.
  static func run(in connection: StoreConnection, at now: Int64) throws -> Outcome {
    var outcome = Outcome()
    outcome.databaseBytes =
      try connection.first("SELECT pg_database_size(current_database())") { try $0[0] as Int } ?? 0
    let isAlone = try connection.first(
      "SELECT pg_try_advisory_xact_lock(hashtextextended(coalesce(current_schema(), ''), ?::bigint))",
      NamedLock.seed(of: Array("upkeep".utf8))
    ) { try $0[0] as Bool }
    guard isAlone == true else { return outcome }
    try connection.run("DELETE FROM commits WHERE at < clock_timestamp() - ?::text::interval", CommitRows.lifetime)
    try connection.run(
      "DELETE FROM nodes WHERE lease_until < clock_timestamp() - ?::text::interval",
      NodeRecords.lifetime
    )
    try AttemptRecords.sweep(limit: attempts, in: connection)
    let oldest = now - IdempotencyRecords.lifetime
    outcome.isPart = try IdempotencyRecords(connection: connection).sweep(before: oldest, limit: limit)
    return outcome
  }
}
