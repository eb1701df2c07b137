import LockstepCollections
import LockstepTime

/// The journal of all users, in the order of their transactions.
package struct StoreJournal {
  /// A place between two entries.
  package struct Place: Sendable, Hashable {
    /// The number of the entry before the place; 0 before the first entry.
    package let number: Int
    /// The revision of that entry, to recognise a place of a lost history.
    package let revision: Revision

    package static let beginning = Place(number: 0, revision: .none)

    package init(number: Int, revision: Revision) {
      (self.number, self.revision) = (number, revision)
    }

    /// The place before this many entries. `knows(_:)` does not know it.
    package func moved(back count: Int) -> Place { Place(number: max(0, number - count), revision: .none) }
  }

  /// An entry with its user, and with the name of the device if that has one.
  package struct Entry: Sendable {
    package let place: Place
    package let user: UserID
    package let device: String?
    package let entry: JournalEntry
  }

  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// The place after the last entry.
  package func end() throws -> Place {
    let last = try connection.first(
      StoreSQL(
        sqlite: "SELECT number, revision FROM journal ORDER BY number DESC LIMIT 1",
        postgreSQL: """
          SELECT place, number << 20 | era FROM journal
          WHERE place < (
            SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store
          )
          ORDER BY place DESC LIMIT 1
          """
      )
    ) { Place(number: try $0[0], revision: try $0[1]) }
    // The last entries may have been erased with their user.
    let highest =
      try connection.first(
        StoreSQL(
          sqlite: "SELECT journal_end FROM store",
          postgreSQL: """
            SELECT least(
              journal_end, (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20) - 1
            ) FROM store
            """
        )
      ) { try $0[0] as Int } ?? 0
    guard let last, last.number >= highest else { return Place(number: highest, revision: .none) }
    return last
  }

  /// Whether there are entries after `end()`. In PostgreSQL, they count when all transactions with lower
  /// ids have ended.
  package func hasHiddenEntries() throws -> Bool {
    guard case .postgreSQL = connection else { return false }
    let found = try connection.first(
      """
      SELECT 1 FROM journal WHERE place >= (
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store
      ) LIMIT 1
      """
    ) { _ in true }
    return found != nil
  }

  /// The place before the last `count` entries. `knows(_:)` does not know it.
  package func place(beforeLast count: Int) throws -> Place {
    switch connection {
    case .sqlite: return try end().moved(back: count)
    case .postgreSQL:
      let number = try connection.first(
        """
        SELECT place FROM journal WHERE place < (
          SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store
        )
        ORDER BY place DESC LIMIT 1 OFFSET ?
        """,
        count
      ) { try $0[0] as Int }
      return Place(number: number ?? 0, revision: .none)
    }
  }

  /// The place before the first entry at `moment` or later. `knows(_:)` does not know it.
  package func place(at moment: Timestamp) throws -> Place {
    // From the end, because the caller reads all that follows anyway.
    let number = try connection.first(
      StoreSQL(
        sqlite: "SELECT number FROM journal WHERE at < ? ORDER BY number DESC LIMIT 1",
        postgreSQL: "SELECT place FROM journal WHERE at < ? ORDER BY place DESC LIMIT 1"
      ),
      moment
    ) { try $0[0] as Int }
    return Place(number: number ?? 0, revision: .none)
  }

  /// Whether the store has assigned the place's number, and no other entry has it. An entry that was
  /// pruned or erased counts as known.
  package func knows(_ place: Place) throws -> Bool {
    guard try place.number <= end().number else { return false }
    guard place.number > 0 else { return true }
    // The place after an erased entry has no revision, and its number is in no row. After an old copy
    // of the file was put back, another entry has the number.
    let revision = try connection.first(
      StoreSQL(
        sqlite: "SELECT revision FROM journal WHERE number = ?",
        postgreSQL: "SELECT number << 20 | era FROM journal WHERE place = ?"
      ),
      place.number
    ) { try $0[0] as Revision }
    if let revision { return revision == place.revision }
    return try !isLost(place)
  }

  /// Whether the place is after entries that were lost with an earlier history of the database. In SQLite,
  /// other entries get their numbers.
  private func isLost(_ place: Place) throws -> Bool {
    guard case .postgreSQL = connection else { return false }
    let gap = try connection.first(
      "SELECT 1 FROM journal_gaps WHERE last_place < ?1 AND next_place > ?1",
      place.number
    ) { _ in true }
    return gap != nil
  }

  /// Passes the entries after a place to `body`, oldest first, as long as `body` returns true. With
  /// `user`, only that user's entries. Reads at most `limit` entries.
  package func forEach(
    after place: Place,
    of user: UserID?,
    limit: Int,
    while body: (Entry) throws -> Bool
  ) throws {
    guard let user else {
      return try connection.forEachRow(
        StoreSQL(
          sqlite: """
            SELECT j.number, j.user_id, s.device,
              j.revision, j.position, j.collection, j.at, j.session_id, j.acted_by, j.action, j.mutations, j.written
            FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
            WHERE j.number > ?1 ORDER BY j.number LIMIT ?2
            """,
          postgreSQL: """
            SELECT j.place, j.user_id, s.device, j.number << 20 | j.era, j.position, j.collection, j.at,
              j.session_id, j.acted_by, j.action, j.mutations, j.written
            FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
            WHERE j.place > ?1 AND j.place < (
              SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store
            )
            ORDER BY j.place LIMIT ?2
            """
        ),
        place.number,
        limit,
        while: { try body(Self.entry($0)) }
      )
    }
    try connection.forEachRow(
      StoreSQL(
        sqlite: """
          SELECT j.number, j.user_id, s.device,
            j.revision, j.position, j.collection, j.at, j.session_id, j.acted_by, j.action, j.mutations, j.written
          FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
          WHERE j.user_id = ?1 AND +j.number > ?2 ORDER BY j.revision, j.position LIMIT ?3
          """,
        postgreSQL: """
          SELECT j.place, j.user_id, s.device, j.number << 20 | j.era, j.position, j.collection, j.at,
            j.session_id, j.acted_by, j.action, j.mutations, j.written
          FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
          WHERE j.user_id = ?1 AND j.place > ?2 AND j.place < (
            SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store
          )
          ORDER BY j.number, j.position LIMIT ?3
          """
      ),
      user,
      place.number,
      limit,
      while: { try body(Self.entry($0)) }
    )
  }

  private static func entry(_ row: borrowing StoreRow) throws -> Entry {
    let entry = try row.journalEntry(at: 3)
    return Entry(
      place: Place(number: try row[0], revision: entry.revision),
      user: try row[1],
      device: try row[2],
      entry: entry
    )
  }
}
