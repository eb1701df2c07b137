import LockstepPostgreSQL

/// Which history of the database a connection sees. It changes after a standby was promoted and after a
/// backup was restored. Entries of the journal may be lost then, and transaction ids may be assigned again.
///
/// The user's states need no such mark: each connection of a writer begins a new era.
struct DatabaseTimeline: Sendable, Equatable {
  /// How many transaction ids a new history skips, so that its places in the journal of all users are
  /// higher than those of all lost entries.
  private static let skipped = 1 << 32
  /// The same after each start of the database, because an old copy of its folder may have been put back.
  /// There are many starts, so they must skip less.
  private static let skippedAtStart = 1 << 24

  /// The cluster, its timeline, and the transaction that has made the tables. A promotion begins a new
  /// timeline, and so does point-in-time recovery. A restored dump makes the tables again.
  private let name: String
  /// When the database was started.
  private let started: String

  /// How a timeline differs from an earlier one.
  enum Change: Sendable {
    /// A standby was promoted, or a backup was restored.
    case otherHistory
    case restarted

    var notice: FleetNotice {
      switch self {
      case .otherHistory: .otherHistory
      case .restarted: .databaseRestarted
      }
    }
  }

  func change(since earlier: DatabaseTimeline) -> Change? {
    if self == earlier || earlier == .unknown { return nil }
    return name == earlier.name ? .restarted : .otherHistory
  }

  private static let unknown = DatabaseTimeline(name: "", started: "")

  /// Compares the database's timeline with the recorded one. If they differ, records the new timeline, and
  /// that the places of lost entries belong to no entry. Call this before the first group on each
  /// connection of a writer, outside a transaction. Returns the present timeline, and how it differs.
  static func record(_ session: PostgreSQLSession) throws -> (present: DatabaseTimeline, change: Change?) {
    let connection = StoreConnection.postgreSQL(session)
    let present = try read(session)
    if try recorded(connection) == present { return (present, nil) }
    let change = try session.transaction { () -> Change? in
      try connection.lock(Array("lockstep timeline".utf8))
      let recorded = try recorded(connection)
      if recorded == present { return nil }
      let change = present.change(since: recorded)
      switch change {
      case .restarted: try recordGap(connection, skipping: skippedAtStart)
      case .otherHistory:
        try recordGap(connection, skipping: skipped)
        try connection.run("UPDATE store SET timeline_since = clock_timestamp()")
      case nil: break
      }
      try connection.run("UPDATE store SET timeline = ?, started = ?", present.name, present.started)
      return change
    }
    return (present, change)
  }

  /// Whether the timeline may have begun moments ago. Then a node may have a lease that this database
  /// does not know.
  static func isNew(_ session: PostgreSQLSession) throws -> Bool {
    let present = try read(session)
    let isNew = try StoreConnection.postgreSQL(session).first(
      """
      SELECT timeline <> '' AND (timeline <> ? OR timeline_since > clock_timestamp() - interval '10 s') FROM store
      """,
      present.name
    ) { try $0[0] as Bool? }
    return isNew.flatMap { $0 } ?? false
  }

  /// Raises the places of later entries above those of all present ones. They can be lower after a copy
  /// of another store, whose transaction ids are higher.
  static func continueJournal(_ connection: StoreConnection) throws {
    let ends = try JournalEnds(connection)
    if ends.isContinuous { return }
    try connection.run("UPDATE store SET journal_offset = ?", ends.continuousOffset)
  }

  private static func recordGap(_ connection: StoreConnection, skipping skipped: Int) throws {
    let ends = try JournalEnds(connection)
    let offset = ends.continuousOffset + skipped
    try connection.run("UPDATE store SET journal_offset = ?", offset)
    try connection.run(
      """
      INSERT INTO journal_gaps (last_place, next_place) VALUES (?, ?)
      ON CONFLICT (last_place) DO UPDATE SET next_place = excluded.next_place
      """,
      ends.lastPlace,
      (offset + ends.nextTransaction) << 20
    )
  }

  private static func recorded(_ connection: StoreConnection) throws -> DatabaseTimeline {
    try connection.first("SELECT timeline, started FROM store") { row in
      DatabaseTimeline(name: try row[0], started: try row[1])
    } ?? .unknown
  }

  static func read(_ session: PostgreSQLSession) throws -> DatabaseTimeline {
    let result: PostgreSQLResult
    do {
      result = try session.connection.query(readAll, [])
    } catch {
      // A managed service may forbid these functions.
      if session.connection.isBroken { throw error }
      result = try session.connection.query(readTables, [])
    }
    return DatabaseTimeline(name: try result.row(0).text(at: 0), started: try result.row(0).text(at: 1))
  }

  private static let readAll = PostgreSQLStatement(
    """
    SELECT (pg_control_system()).system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      || '/' || xmin::text, pg_postmaster_start_time()::text
    FROM migrations WHERE number = 1
    """
  )
  private static let readTables = PostgreSQLStatement(
    "SELECT xmin::text, pg_postmaster_start_time()::text FROM migrations WHERE number = 1"
  )

  /// The ends of the journal of all users: of its entries, and of the transaction ids.
  private struct JournalEnds {
    let lastPlace: Int
    let nextTransaction: Int
    let offset: Int

    init(_ connection: StoreConnection) throws {
      let row = try connection.first(
        """
        SELECT greatest(journal_end, (SELECT coalesce(max(place), 0) FROM journal)),
          pg_snapshot_xmax(pg_current_snapshot())::text::bigint, journal_offset
        FROM store
        """
      ) { (try $0[0] as Int, try $0[1] as Int, try $0[2] as Int) }
      (lastPlace, nextTransaction, offset) = row ?? (0, 0, 0)
    }

    /// Whether later entries get higher places than the last one.
    var isContinuous: Bool { lastPlace >> 20 < nextTransaction + offset }

    var continuousOffset: Int { isContinuous ? offset : (lastPlace >> 20) + 1 - nextTransaction }
  }
}
