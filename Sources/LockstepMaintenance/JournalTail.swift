import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Follows what happens to one user, from the store's file, beside the server that writes it.
///
/// It belongs to one thread. Nothing is held between two looks, so that the store's log goes on as ever.
public struct JournalTail {
  /// One action that changed something.
  public struct Entry: Sendable, Equatable {
    /// The user's state behind it, as clients are told.
    public let cursor: String
    /// When it was done.
    public let at: Timestamp
    /// What the device is called that asked for it; nil where it has no name, or is logged out.
    public let device: String?
    /// The session that asked for it, where there was one.
    public let session: String?
    /// The collection that it changed.
    public let collection: String
    /// What was asked for, as JSON: `{"type": …, "payload": …}`.
    public let action: String
    /// What did happen, as JSON: an array of such.
    public let mutations: String
  }

  /// Where it begins.
  public enum Start: Sendable, Equatable {
    /// With so many of the last entries.
    case last(Int)
    /// Behind a cursor.
    case cursor(String)
    /// With what was done at a moment or later.
    case time(Timestamp)
  }

  private let path: String
  private let file: FileIdentity?
  private let connection: SQLiteConnection
  private let user: UserID
  private let store: String
  private var last: Revision?
  private var version: Int?
  private let start: Start

  /// Follows a user of the store in this file.
  ///
  /// - Throws: `MaintenanceError.missing`, `StoreError` where it's no store that this program knows, `SQLiteError`.
  public init(of user: UserID, in path: String, from start: Start) throws {
    guard StorePath.isFile(path) else { throw MaintenanceError.missing(path: path) }
    self.path = path
    self.user = user
    self.start = start
    file = FileIdentity(path: path)
    connection = try SQLiteConnection(path: path, options: .init(access: .readOnly, journal: .asFound))
    let migrator = Migrator()
    let connection = connection
    store = try connection.snapshot {
      let schema = try migrator.examine(connection)
      guard schema == migrator.last else {
        throw MaintenanceError.olderSchema(path: path, found: schema, known: migrator.last)
      }
      return try connection.first("SELECT id FROM store") { row in try row[0] as String } ?? ""
    }
  }

  /// What happened since the last time, oldest first; the first time what there is to begin with.
  ///
  /// - Parameter limit: How many entries about; what is left comes the next time.
  /// - Returns: The entries, of whole transactions; none where nothing has happened.
  /// - Throws: `MaintenanceError.erased` where the user is gone, `MaintenanceError.replaced` where the file is another one now,
  ///   `MaintenanceError.unknownCursor`; `SQLiteError`.
  public mutating func look(limit: Int = 100) throws -> [Entry] {
    if file != FileIdentity(path: path) { throw MaintenanceError.replaced(path: path) }
    // Goes up with each commit of another connection; to ask costs next to nothing.
    let now = try connection.first("PRAGMA data_version") { row in try row[0] as Int }
    if last != nil, now == version { return [] }
    let (user, connection) = (user, connection)
    let from = try last ?? beginning()
    var reached = from
    let entries = try connection.snapshot {
      guard try UserRecords(connection: connection).account(user) != nil else { throw MaintenanceError.erased }
      return try connection.all(Self.entries, user, from, limit) { row in
        reached = try row[0]
        return try entry(row, reached)
      }
    }
    last = reached
    // Where there may be more, it's looked again whatever the version says.
    version = entries.count < limit ? now : nil
    return entries
  }

  /// Whole revisions: one that has many actions is never told in part.
  private static let entries: StaticString = """
    SELECT j.revision, j.at, j.session_id, s.device, j.collection, j.action, j.mutations
    FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
    WHERE j.user_id = ?1 AND j.revision > ?2 AND j.revision <= (
      SELECT max(revision) FROM (
        SELECT revision FROM journal WHERE user_id = ?1 AND revision > ?2 ORDER BY revision, position LIMIT ?3
      )
    )
    ORDER BY j.revision, j.position
    """

  private func entry(_ row: borrowing SQLiteRow, _ revision: Revision) throws -> Entry {
    Entry(
      cursor: Cursor(store: String(store.prefix(Cursor.storeDigits)), revision: revision).text,
      at: try row[1],
      device: try row[3],
      session: try row[2],
      collection: try row[4],
      action: try row[5],
      mutations: try row[6]
    )
  }

  /// The revision behind which to begin.
  private func beginning() throws -> Revision {
    switch start {
    case .last(let count):
      let first = try connection.first(
        "SELECT revision FROM journal WHERE user_id = ? ORDER BY revision DESC, position DESC LIMIT 1 OFFSET ?",
        user,
        count
      ) { row in try row[0] as Revision }
      return first ?? .none
    case .time(let moment):
      let before = try connection.first(
        "SELECT max(revision) FROM journal WHERE user_id = ? AND at < ?",
        user,
        moment
      ) { row in try row[0] as Revision? }
      return before.flatMap { $0 } ?? .none
    case .cursor(let text):
      guard let cursor = Cursor(text), cursor.store == String(store.prefix(Cursor.storeDigits)),
        try Journal(connection: connection).knows(cursor.revision, of: user)
      else { throw MaintenanceError.unknownCursor(text) }
      return cursor.revision
    }
  }
}
