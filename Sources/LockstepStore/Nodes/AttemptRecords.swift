import LockstepPostgreSQL

/// The table `attempts`. Each row is a limit as `RateLimit` computes it, by the clock of the database.
///
/// All transactions lock their rows in the order of the keys, so that they never wait for each other in
/// a circle.
struct AttemptRecords {
  let session: PostgreSQLSession

  /// How long a login counts as recent: 30 days.
  private static let recentSeconds = 2_592_000

  /// Whether there was a recent login with this key.
  func isRecent(_ login: [UInt8]) throws -> Bool {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.findLogin, [.bytes(login)])
    return try session.send(pipeline)[0].rowCount > 0
  }

  /// Counts the uses, unless one of them is above its limit. Returns the nanoseconds to wait for each of
  /// them. The caller must roll back if one has to wait.
  func count(_ uses: [AttemptCounter.Use]) throws -> [Int64] {
    var pipeline = PostgreSQLPipeline()
    for key in uses.map(\.key).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      pipeline.add(Self.lock, [.bytes(key)])
    }
    let count = pipeline.add(
      Self.count,
      [.byteStrings(uses.map(\.key)), .integers(uses.map(\.interval)), .integers(uses.map(\.span))]
    )
    let result = try session.send(pipeline)[count]
    return try (0..<result.rowCount).map { Int64(try result.row($0).integer(at: 0)) }
  }

  /// Makes the uses available again, and remembers the login.
  func giveBack(_ uses: [AttemptCounter.Use], recentLogin: [UInt8]?) throws {
    // A login has no interval.
    var changes = uses.map { (key: $0.key, interval: Int64?.some($0.interval)) }
    if let recentLogin { changes.append((recentLogin, nil)) }
    var pipeline = PostgreSQLPipeline()
    for (key, interval) in changes.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      if let interval {
        pipeline.add(Self.deleteUnused, [.bytes(key), .integer(interval)])
        pipeline.add(Self.giveBack, [.bytes(key), .integer(interval)])
      } else {
        pipeline.add(Self.remember, [.bytes(key)])
      }
    }
    if !pipeline.isEmpty { _ = try session.send(pipeline) }
  }

  /// Deletes rows that limit nothing any more. It skips rows that an attempt has locked.
  static func sweep(limit: Int, in connection: StoreConnection) throws {
    try connection.run(
      """
      DELETE FROM attempts WHERE key IN (
        SELECT key FROM attempts WHERE until < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000
        ORDER BY until LIMIT ? FOR UPDATE SKIP LOCKED
      )
      """,
      limit
    )
  }

  private static let now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000"

  private static let findLogin = PostgreSQLStatement("SELECT 1 FROM attempts WHERE key = $1 AND until > \(now)")

  /// Locks a row, which it inserts if there is none. The condition is checked after the row is locked.
  private static let lock = PostgreSQLStatement(
    """
    INSERT INTO attempts (key, until) VALUES ($1, 0)
    ON CONFLICT (key) DO UPDATE SET until = attempts.until WHERE false
    """
  )

  /// The rows are locked before this statement gets its snapshot, so it reads their latest versions.
  ///
  /// If the clock was set back, a client must not wait longer than the limit demands: hence `least`.
  private static let count = PostgreSQLStatement(
    """
    WITH clock AS MATERIALIZED (SELECT \(now) AS now),
    used AS MATERIALIZED (
      SELECT v.place, v.key, now, v.span, least(greatest(a.until, now), now + v.span) + v.step AS next
      FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS v (key, step, span, place)
      JOIN attempts AS a ON a.key = v.key CROSS JOIN clock
    ),
    counted AS (
      UPDATE attempts AS a SET until = used.next FROM used
      WHERE a.key = used.key AND NOT EXISTS (SELECT FROM used WHERE next - now > span)
    )
    SELECT greatest(0, next - now - span) FROM used ORDER BY place
    """
  )

  private static let deleteUnused = PostgreSQLStatement(
    "DELETE FROM attempts WHERE key = $1 AND until - $2::bigint <= \(now)"
  )

  private static let giveBack = PostgreSQLStatement(
    "UPDATE attempts SET until = until - $2::bigint WHERE key = $1"
  )

  private static let remember = PostgreSQLStatement(
    """
    INSERT INTO attempts (key, until) VALUES ($1, \(now) + \(recentSeconds) * 1000000000::bigint)
    ON CONFLICT (key) DO UPDATE SET until = excluded.until
    """
  )
}
