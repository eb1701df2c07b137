import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepTime

/// Follows the journal of one user or of all users while a server writes it.
///
/// No transaction stays open between two reads, so that checkpoints and vacuums can proceed.
package struct JournalTail {
  package struct Entry: Sendable, Equatable {
    /// The cursor of the user's state after the action, or of the journal of all users.
    package let cursor: String
    /// The e-mail address of the user, or the id without one; nil if the tail follows one user.
    package var address: String?
    /// Nil if the tail follows one user.
    package var user: UserID?
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

  private let source: Source
  private let user: UserID?
  /// The beginning of the store's identity, as in cursors.
  private let storePrefix: String
  private let start: Start
  private var last: Position?
  private var version: Int?

  private enum Position {
    case ofUser(Revision)
    case ofAll(StoreJournal.Place)
  }

  /// `user` is nil for the journal of all users.
  package init(of user: UserID?, in store: StoreLocation, from start: Start) throws {
    self.user = user
    self.start = start
    source = try Source(store)
    storePrefix = String(try source.read { try $0.storeID() ?? "" }.prefix(Cursor.storeDigits))
  }

  /// The entries since the last call, oldest first. A call stops after about `limit` entries. Of one
  /// user it returns only whole revisions. The next call continues there.
  ///
  /// Throws `MaintenanceError.erased` after the user was erased, `.replaced` after the file was
  /// replaced, and `.unknownCursor` if the history does not contain the cursor to start from.
  package mutating func read(limit: Int = 100) throws -> [Entry] {
    let now = try source.version()
    if last != nil, let now, now == version { return [] }
    let (entries, reached) = try source.read { connection in
      switch try last ?? first(connection) {
      case .ofUser(let revision): try self.entries(after: revision, limit, connection)
      case .ofAll(let place): try self.entries(after: place, limit, connection)
      }
    }
    last = reached
    // If there may be more entries, the next call reads them even without a new commit.
    version = entries.count < limit ? now : nil
    return entries
  }

  private func entries(
    after revision: Revision,
    _ limit: Int,
    _ connection: StoreConnection
  ) throws -> ([Entry], Position) {
    guard let user, try UserRecords(connection: connection).has(user) else { throw MaintenanceError.erased }
    let entries = try Journal(connection: connection).storedEntries(of: user, after: revision, limit: limit)
    return (
      entries.map { entry in
        Entry(
          cursor: Cursor(store: storePrefix, revision: entry.revision).text,
          at: entry.at,
          device: entry.device,
          session: entry.session,
          agent: entry.agent,
          collection: entry.collection,
          action: entry.action,
          mutations: entry.mutations
        )
      }, .ofUser(entries.last?.revision ?? revision)
    )
  }

  private func entries(
    after place: StoreJournal.Place,
    _ limit: Int,
    _ connection: StoreConnection
  ) throws -> ([Entry], Position) {
    var (entries, reached, addresses): ([Entry], StoreJournal.Place, [UserID: String]) = ([], place, [:])
    let users = UserRecords(connection: connection)
    var found: [StoreJournal.Entry] = []
    try StoreJournal(connection: connection).forEach(after: place, of: nil, limit: limit) { entry in
      found.append(entry)
      return true
    }
    for entry in found {
      // A user without an address is shown by the id.
      let address = try addresses[entry.user] ?? users.account(entry.user)?.user.email ?? "\(entry.user)"
      addresses[entry.user] = address
      reached = entry.place
      entries.append(
        Entry(
          cursor: entry.place.text(in: storePrefix),
          address: address,
          user: entry.user,
          at: entry.entry.at,
          device: entry.device,
          session: entry.entry.session.map { "\($0)" },
          agent: entry.entry.agent,
          collection: entry.entry.collection.description,
          action: entry.entry.action,
          mutations: entry.entry.mutations
        )
      )
    }
    return (entries, .ofAll(reached))
  }

  private func first(_ connection: StoreConnection) throws -> Position {
    guard let user else { return .ofAll(try firstPlace(StoreJournal(connection: connection))) }
    let journal = Journal(connection: connection)
    switch start {
    case .last(let count): return .ofUser(try journal.revision(of: user, beforeLast: count))
    case .time(let moment): return .ofUser(try journal.revision(of: user, before: moment))
    case .cursor(let text):
      guard let cursor = Cursor(text), cursor.store == storePrefix, try journal.knows(cursor.revision, of: user) else {
        throw MaintenanceError.unknownCursor(text)
      }
      return .ofUser(cursor.revision)
    }
  }

  private func firstPlace(_ journal: StoreJournal) throws -> StoreJournal.Place {
    switch start {
    case .last(let count): return try journal.place(beforeLast: count)
    case .time(let moment): return try journal.place(at: moment)
    case .cursor(let text):
      guard let (place, isOfStore) = StoreJournal.Place.read(text, store: storePrefix), isOfStore,
        try journal.knows(place)
      else { throw MaintenanceError.unknownCursor(text) }
      return place
    }
  }
}

extension JournalTail {
  /// A store that is read again and again.
  private enum Source {
    case file(path: String, FileIdentity?, SQLiteConnection)
    case database(StoreDatabase)

    init(_ store: StoreLocation) throws {
      switch store {
      case .file(let path):
        let connection = try StorePath.openForReading(path)
        self = .file(path: path, FileIdentity(path: path), connection)
        try connection.snapshot { try Migrator().expectCurrentSchema(of: connection, path: path) }
      case .database(let string): self = .database(try StoreDatabase(withCurrentSchema: string))
      }
    }

    /// A number that changes with each commit of another connection; nil if there is none. Reading it is
    /// cheap.
    func version() throws -> Int? {
      guard case .file(let path, let file, let connection) = self else { return nil }
      if file != FileIdentity(path: path) { throw MaintenanceError.replaced(path: path) }
      return try connection.first("PRAGMA data_version") { row in try row[0] as Int }
    }

    func read<Result>(_ body: (StoreConnection) throws -> Result) throws -> Result {
      switch self {
      case .file(_, _, let connection): try connection.snapshot { try body(.sqlite(connection)) }
      case .database(let database): try database.read(body)
      }
    }
  }
}
