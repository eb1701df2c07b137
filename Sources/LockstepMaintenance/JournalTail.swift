import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Follows one user's journal in the store's file while a server writes it.
///
/// No transaction stays open between two reads, so that checkpoints can proceed.
package struct JournalTail {
  package struct Entry: Sendable, Equatable {
    /// The cursor of the state after the action.
    package let cursor: String
    package let at: Timestamp
    /// The session's device; nil if the device has no name or the session has ended.
    package let device: String?
    package let session: String?
    /// The name of the service token that made the change; nil if a session made it.
    package let agent: String?
    package let collection: String
    /// JSON: `{"type": …, "payload": …}`.
    package let action: String
    /// JSON: an array of mutations.
    package let mutations: String
  }

  package enum Start: Sendable, Equatable {
    case last(Int)
    case cursor(String)
    /// Starts with the first entry at this moment or later.
    case time(Timestamp)
  }

  private let path: String
  private let file: FileIdentity?
  private let connection: SQLiteConnection
  private let user: UserID
  /// The beginning of the store's identity, as in cursors.
  private let storePrefix: String
  private var last: Revision?
  private var version: Int?
  private let start: Start

  package init(of user: UserID, in path: String, from start: Start) throws {
    let connection = try StorePath.openForReading(path)
    self.path = path
    self.user = user
    self.start = start
    self.connection = connection
    file = FileIdentity(path: path)
    let identity = try connection.snapshot {
      try Migrator().expectCurrentSchema(of: connection, path: path)
      return try connection.first("SELECT id FROM store") { row in try row[0] as String } ?? ""
    }
    storePrefix = String(identity.prefix(Cursor.storeDigits))
  }

  /// The entries since the last call, oldest first. A call returns only whole revisions, and stops
  /// after about `limit` entries. The next call continues there.
  ///
  /// Throws `MaintenanceError.erased` after the user was erased, `.replaced` after the file was
  /// replaced, and `.unknownCursor` if the history does not contain the cursor to start from.
  package mutating func read(limit: Int = 100) throws -> [Entry] {
    if file != FileIdentity(path: path) { throw MaintenanceError.replaced(path: path) }
    // This number changes with each commit of another connection, and reading it is cheap.
    let now = try connection.first("PRAGMA data_version") { row in try row[0] as Int }
    if last != nil, now == version { return [] }
    let from = try last ?? firstRevision()
    var reached = from
    let entries = try connection.snapshot {
      guard try UserRecords(connection: .sqlite(connection)).account(user) != nil else { throw MaintenanceError.erased }
      return try connection.all(Self.entries, user, from, limit) { row in
        reached = try row[0]
        return Entry(
          cursor: Cursor(store: storePrefix, revision: reached).text,
          at: try row[1],
          device: try row[3],
          session: try row[2],
          agent: try row[4],
          collection: try row[5],
          action: try row[6],
          mutations: try row[7]
        )
      }
    }
    last = reached
    // If there may be more entries, the next call reads them even without a new commit.
    version = entries.count < limit ? now : nil
    return entries
  }

  private static let entries: StaticString = """
    SELECT j.revision, j.at, j.session_id, s.device, j.acted_by, j.collection, j.action, j.mutations
    FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
    WHERE j.user_id = ?1 AND j.revision > ?2 AND j.revision <= (
      SELECT max(revision) FROM (
        SELECT revision FROM journal WHERE user_id = ?1 AND revision > ?2 ORDER BY revision, position LIMIT ?3
      )
    )
    ORDER BY j.revision, j.position
    """

  private func firstRevision() throws -> Revision {
    switch start {
    case .last(let count):
      let sql: StaticString =
        "SELECT revision FROM journal WHERE user_id = ? ORDER BY revision DESC, position DESC LIMIT 1 OFFSET ?"
      return try connection.first(sql, user, count) { row in try row[0] as Revision } ?? .none
    case .time(let moment):
      let sql: StaticString = "SELECT coalesce(max(revision), 0) FROM journal WHERE user_id = ? AND at < ?"
      return try connection.first(sql, user, moment) { row in try row[0] as Revision } ?? .none
    case .cursor(let text):
      guard let cursor = Cursor(text), cursor.store == storePrefix,
        try Journal(connection: .sqlite(connection)).knows(cursor.revision, of: user)
      else { throw MaintenanceError.unknownCursor(text) }
      return cursor.revision
    }
  }
}
