import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepTime

/// The table `journal`: the actions of users and their mutations, in order. All methods run in the
/// transaction that the connection has open.
package struct Journal {
  /// The end of a user's history.
  package struct End: Sendable {
    package var revision = Revision.none
    /// The number of bytes of all entries, including pruned ones.
    package var written = 0
  }

  /// The place of an entry in its user's journal, or the end of a revision.
  package struct Place: Sendable {
    package let revision: Revision
    fileprivate let position: Int
    /// See `JournalEntry.written`.
    package let written: Int

    fileprivate init(revision: Revision, position: Int, written: Int) {
      (self.revision, self.position, self.written) = (revision, position, written)
    }

    /// The place after the last entry of a revision.
    package init(endOf revision: Revision) {
      self.init(revision: revision, position: .max, written: 0)
    }
  }

  /// The numbers of bytes that a user's entries can have. In a damaged store, another number is read
  /// as the nearest of these, so that no calculation overflows.
  package static let possibleBytes = 0...(1 << 60)

  static func possible(_ bytes: Int) -> Int {
    min(max(bytes, possibleBytes.lowerBound), possibleBytes.upperBound)
  }

  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// The number of a user's entries whose number of bytes is impossible.
  package func impossibleSizes(of user: UserID) throws -> Int {
    try connection.first(
      "SELECT count(*) FROM journal WHERE user_id = ? AND written NOT BETWEEN ? AND ?",
      user,
      Self.possibleBytes.lowerBound,
      Self.possibleBytes.upperBound
    ) { try $0[0] } ?? 0
  }

  package func add(_ entry: JournalEntry, of user: UserID) throws {
    try connection.run(
      """
      INSERT INTO journal
        (number, user_id, revision, position, written, collection, at, session_id, acted_by, action, mutations)
      VALUES (
        1 + max(coalesce((SELECT max(number) FROM journal), 0), coalesce((SELECT journal_end FROM store), 0)),
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
      )
      """,
      user,
      entry.revision,
      entry.position,
      entry.written,
      entry.collection.description,
      entry.at,
      entry.session,
      entry.agent,
      entry.action,
      entry.mutations
    )
  }

  /// The user's last revision; 0 if nothing was ever changed. The last entry is never pruned.
  package func lastRevision(of user: UserID) throws -> Revision { try end(of: user).revision }

  package func end(of user: UserID) throws -> End {
    try connection.first(
      "SELECT number << 20 | era, written FROM heads WHERE user_id = ?",
      user
    ) { End(revision: try $0[0], written: try $0.written(at: 1)) } ?? End()
  }

  /// About how many bytes the user's entries have that are not pruned.
  package func keptBytes(of user: UserID) throws -> Int {
    let first = try connection.first(
      StoreSQL(
        sqlite: "SELECT written FROM journal WHERE user_id = ? ORDER BY revision, position LIMIT 1",
        postgreSQL: "SELECT written FROM journal WHERE user_id = ? ORDER BY number, position LIMIT 1"
      ),
      user
    ) { try $0[0] as Int }
    return try end(of: user).written - (first ?? 0)
  }

  /// The first kept revision at which the whole history is longer than `written` bytes. By default,
  /// the first kept revision. Nil if there is none.
  package func firstRevision(of user: UserID, past written: Int = -1) throws -> Revision? {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT revision FROM journal WHERE user_id = ? AND written > ? ORDER BY revision, position LIMIT 1",
        postgreSQL:
          "SELECT number << 20 | era FROM journal WHERE user_id = ? AND written > ? ORDER BY number, position LIMIT 1"
      ),
      user,
      written
    ) { try $0[0] }
  }

  /// Whether the part of the user's history that is kept contains this revision.
  package func knows(_ revision: Revision, of user: UserID) throws -> Bool {
    // The empty state before revision 1 is known until the entries of revision 1 are pruned.
    if revision == .none { return try firstRevision(of: user).map { $0.number == 1 } ?? true }
    return try connection.first(
      StoreSQL(
        sqlite: "SELECT 1 FROM journal WHERE user_id = ? AND revision = ? LIMIT 1",
        postgreSQL: """
          SELECT 1 FROM journal WHERE user_id = ?1 AND number = ?2::bigint >> 20 AND era = ?2::bigint & 1048575 LIMIT 1
          """
      ),
      user,
      revision
    ) { _ in true } ?? false
  }

  /// The revision of each entry after `revision`, oldest first. Only the index is read, because
  /// entries may be long.
  package func revisions(of user: UserID, after revision: Revision, limit: Int) throws -> [Revision] {
    try connection.all(
      StoreSQL(
        sqlite: "SELECT revision FROM journal WHERE user_id = ? AND revision > ? ORDER BY revision, position LIMIT ?",
        postgreSQL: """
          SELECT number << 20 | era FROM journal
          WHERE user_id = ?1 AND number > ?2::bigint >> 20 ORDER BY number, position LIMIT ?3
          """
      ),
      user,
      revision,
      limit
    ) { try $0[0] }
  }

  /// The first entry whose revision has this number or a higher one.
  package func firstEntry(of user: UserID, from number: Int) throws -> (revision: Revision, at: Timestamp)? {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT revision, at FROM journal WHERE user_id = ? AND revision >= ? ORDER BY revision LIMIT 1",
        postgreSQL: """
          SELECT number << 20 | era, at FROM journal WHERE user_id = ? AND number >= ?::bigint >> 20
          ORDER BY number LIMIT 1
          """
      ),
      user,
      Revision(number: number)
    ) { (try $0[0], try $0[1]) }
  }

  /// The collections that entries after one revision, up to another one, have changed.
  package func collections(
    of user: UserID,
    changedAfter start: Revision,
    upTo end: Revision
  ) throws -> [CollectionName] {
    try connection.all(
      StoreSQL(
        sqlite: "SELECT DISTINCT collection FROM journal WHERE user_id = ? AND revision > ? AND revision <= ?",
        postgreSQL: """
          SELECT DISTINCT collection FROM journal
          WHERE user_id = ? AND number > ?::bigint >> 20 AND number <= ?::bigint >> 20
          """
      ),
      user,
      start,
      end
    ) { CollectionName(text: try $0[0] as String) }
  }

  /// The collections that the journal or a snapshot of the user has.
  package func recordedCollections(of user: UserID) throws -> Set<CollectionName> {
    let names = try connection.all(
      "SELECT collection FROM journal WHERE user_id = ?1 UNION SELECT collection FROM snapshots WHERE user_id = ?1",
      user
    ) { CollectionName(text: try $0[0] as String) }
    return Set(names)
  }

  /// How many revisions the journal has, and the numbers of the first and the last; nil if it has none.
  package func kept(of user: UserID) throws -> (count: Int, range: ClosedRange<Int>)? {
    try connection.first(
      StoreSQL(
        sqlite: """
          SELECT count(DISTINCT revision >> 20), min(revision >> 20), max(revision >> 20)
          FROM journal WHERE user_id = ?
          """,
        postgreSQL: "SELECT count(DISTINCT number), min(number), max(number) FROM journal WHERE user_id = ?"
      ),
      user
    ) { row -> (Int, ClosedRange<Int>)? in
      guard let first = try row[1] as Int?, let last = try row[2] as Int? else { return nil }
      return (try row[0], first...max(first, last))
    }
    .flatMap { $0 }
  }

  /// Whether an entry after a revision has changed the collection.
  package func hasChanged(_ name: CollectionName, of user: UserID, after revision: Revision) throws -> Bool {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT 1 FROM journal WHERE user_id = ? AND revision > ? AND collection = ? LIMIT 1",
        postgreSQL:
          "SELECT 1 FROM journal WHERE user_id = ? AND number > ?::bigint >> 20 AND collection = ? LIMIT 1"
      ),
      user,
      revision,
      name.description
    ) { _ in true } ?? false
  }

  /// Deletes the user's entries up to and including a revision.
  package func delete(upTo revision: Revision, of user: UserID) throws {
    try connection.run(
      StoreSQL(
        sqlite: "DELETE FROM journal WHERE user_id = ? AND revision <= ?",
        postgreSQL: "DELETE FROM journal WHERE user_id = ? AND number <= ?::bigint >> 20"
      ),
      user,
      revision
    )
  }

  package func entries(of user: UserID, at revision: Revision) throws -> [JournalEntry] {
    // Not the raw value less 1: it has the same number, which is all that PostgreSQL compares.
    try entries(of: user, after: Revision(rawValue: Revision(number: revision.number).rawValue - 1), upTo: revision)
      .filter { $0.revision == revision }
  }

  /// The user's entries after the revision `after`, up to and including `upTo`, oldest first.
  package func entries(of user: UserID, after: Revision, upTo: Revision) throws -> [JournalEntry] {
    var entries: [JournalEntry] = []
    try forEachEntry(of: user, after: Place(endOf: after), upTo: upTo) { entry in
      entries.append(entry)
      return true
    }
    return entries
  }

  /// Passes the user's entries after a place, up to and including the revision `upTo`, to `body`,
  /// oldest first, as long as `body` returns true. If the store is damaged, a text that is not JSON
  /// is read as `null`, so that the rest can be read.
  package func forEachEntry(
    of user: UserID,
    after: Place,
    upTo: Revision,
    while body: (JournalEntry) throws -> Bool
  ) throws {
    for end in try readEnds(of: user, after: after, upTo: upTo) {
      var isStopped = false
      try connection.forEachRow(
        StoreSQL(
          sqlite: """
            SELECT revision, position, collection, at, session_id, acted_by, action, mutations, written FROM journal
            WHERE user_id = ? AND (revision, position) > (?, ?) AND (revision, position) <= (?, ?)
            ORDER BY revision, position
            """,
          postgreSQL: """
            SELECT number << 20 | era, position, collection, at, session_id, acted_by, action, mutations, written
            FROM journal
            WHERE user_id = ?1 AND (number, position) > (?2::bigint >> 20, ?3::bigint)
              AND (number, position) <= (?4::bigint >> 20, ?5::bigint)
            ORDER BY number, position
            """
        ),
        user,
        end.after.revision,
        end.after.position,
        end.last.revision,
        end.last.position,
        while: { row in
          isStopped = try !body(try row.journalEntry(at: 0))
          return !isStopped
        }
      )
      if isStopped { return }
    }
  }

  /// The parts in which entries are read. SQLite reads row by row. From PostgreSQL comes the whole result
  /// of a statement, so a part has about a megabyte.
  private func readEnds(of user: UserID, after: Place, upTo: Revision) throws -> [(after: Place, last: Place)] {
    guard case .postgreSQL = connection else { return [(after, Place(endOf: upTo))] }
    var parts: [(after: Place, last: Place)] = []
    var start = after
    // The size up to the beginning of the part; unknown at the first entry.
    var before: Int?
    for place in try places(of: user, after: after, upTo: upTo) {
      let size = before.map { place.written - $0 } ?? 0
      if parts.isEmpty || size > Self.readBytes {
        if let last = parts.last?.last { start = last }
        parts.append((start, place))
        before = place.written
      }
      parts[parts.count - 1].last = place
    }
    return parts
  }

  private static let readBytes = 1024 * 1024

  /// The places of the user's entries after a place, up to and including the revision `upTo`. The
  /// texts of the entries are not read.
  package func places(of user: UserID, after: Place, upTo: Revision) throws -> [Place] {
    try connection.all(
      StoreSQL(
        sqlite: """
          SELECT revision, position, written FROM journal
          WHERE user_id = ? AND (revision, position) > (?, ?) AND revision <= ? ORDER BY revision, position
          """,
        postgreSQL: """
          SELECT number << 20 | era, position, written FROM journal
          WHERE user_id = ?1 AND (number, position) > (?2::bigint >> 20, ?3::bigint) AND number <= ?4::bigint >> 20
          ORDER BY number, position
          """
      ),
      user,
      after.revision,
      after.position,
      upTo
    ) { Place(revision: try $0[0], position: try $0[1], written: try $0.written(at: 2)) }
  }

  package func hasEntries(of user: UserID, after: Place, upTo: Revision) throws -> Bool {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT 1 FROM journal WHERE user_id = ? AND (revision, position) > (?, ?) AND revision <= ? LIMIT 1",
        postgreSQL: """
          SELECT 1 FROM journal
          WHERE user_id = ?1 AND (number, position) > (?2::bigint >> 20, ?3::bigint) AND number <= ?4::bigint >> 20
          LIMIT 1
          """
      ),
      user,
      after.revision,
      after.position,
      upTo
    ) { _ in true } ?? false
  }

  /// Calls `body` for each entry after the revision `after`, up to and including `upTo`, in order.
  /// `body` gets the entry's collection, its revision, and a function that parses its mutations.
  /// With `collection`, entries of other collections are skipped.
  package func forEachMutation(
    of user: UserID,
    in collection: CollectionName? = nil,
    after: Revision,
    upTo: Revision,
    body: (CollectionName, Revision, (CollectionMutation.Kind) throws -> [CollectionMutation]) throws -> Void
  ) throws {
    try connection.forEach(
      StoreSQL(
        sqlite: """
          SELECT collection, revision, mutations FROM journal
          WHERE user_id = ? AND revision > ? AND revision <= ? AND collection = coalesce(?, collection)
          ORDER BY revision, position
          """,
        postgreSQL: """
          SELECT collection, number << 20 | era, mutations FROM journal
          WHERE user_id = ?1 AND number > ?2::bigint >> 20 AND number <= ?3::bigint >> 20
            AND collection = coalesce(?4, collection)
          ORDER BY number, position
          """
      ),
      user,
      after,
      upTo,
      collection?.description
    ) { row in
      let name = CollectionName(text: try row[0] as String)
      let revision: Revision = try row[1]
      let text: String = try row[2]
      try body(name, revision) { kind in
        (JSON(trusting: Array(text.utf8)).arrayValue ?? []).compactMap { CollectionMutation($0, of: kind) }
      }
    }
  }
}

extension JournalEntry {
  package var place: Journal.Place { Journal.Place(revision: revision, position: position, written: written) }
}

extension StoreRow {
  /// The number of bytes up to an entry, within `Journal.possibleBytes`.
  func written(at column: Int) throws -> Int {
    Journal.possible(try self[column])
  }

  /// The entry in the columns revision, position, collection, at, session_id, acted_by, action,
  /// mutations and written, which begin at `column`.
  func journalEntry(at column: Int) throws -> JournalEntry {
    JournalEntry(
      revision: try self[column],
      position: try self[column + 1],
      collection: CollectionName(text: try self[column + 2] as String),
      at: try self[column + 3],
      session: try self[column + 4],
      agent: try self[column + 5],
      action: try json(at: column + 6),
      mutations: try json(at: column + 7),
      written: try written(at: column + 8)
    )
  }

  /// A text that should be JSON; `null` if it is not JSON or not UTF-8.
  fileprivate func json(at column: Int) throws -> String {
    do {
      let text: String = try self[column]
      return (try? JSON(parsing: Array(text.utf8), maximumDepth: JSON.highestDepth)) == nil ? "null" : text
    } catch let error as SQLiteError where error.kind == .mismatch {
      return "null"
    }
  }
}
