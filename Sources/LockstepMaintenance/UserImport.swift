import LockstepAccounts
import LockstepCollections
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore
import LockstepTime

/// A user of another system.
package struct ImportedUser: Sendable {
  package let address: EmailAddress
  /// The password hash that the other system made; nil if there is none.
  package let passwordHash: PasswordHash?
  package var isEmailVerified = false
  /// Nil: the time of the import.
  package var createdAt: Timestamp?
  package var isDisabled = false

  package init(_ address: EmailAddress, passwordHash: PasswordHash?) {
    (self.address, self.passwordHash) = (address, passwordHash)
  }
}

/// Adds users of another system to a store. A server may use the store: it reads a user when the
/// user logs in.
package struct UserImport: Sendable {
  /// How many users a transaction adds. A server's writes wait meanwhile.
  private static let batch = 200
  /// The time between two transactions beside a server. SQLite looks for the lock of another
  /// connection every 100 ms, so that the server's writes take their turn.
  private static let pauseBetweenBatches = Duration.milliseconds(120)

  private let store: ReadableStore
  private let time: TimeSource
  private let ids: UUIDv7Generator
  private let pause: @Sendable (Duration) -> Void

  /// `pause` sleeps on this thread.
  package init(
    into store: StoreLocation,
    time: TimeSource = .system,
    pause: @escaping @Sendable (Duration) -> Void
  ) throws {
    self.store = try ReadableStore(store)
    (self.time, self.pause) = (time, pause)
    ids = UUIDv7Generator(now: time.millisecondsSince1970, random: try Sodium().randomWord)
  }

  /// Adds the users whose address no user has. Returns the places of the others. `progress` gets
  /// the number of users that are done.
  ///
  /// An import that was interrupted can be repeated.
  package func add(_ users: [ImportedUser], progress: (Int) -> Void) throws -> [Int] {
    let target = try Target(store, time)
    defer { target.close() }
    var taken: [Int] = []
    var start = 0
    while start < users.count {
      let end = min(start + Self.batch, users.count)
      let places = start..<end
      taken += try target.write { connection in
        if places.contains(where: { users[$0].passwordHash != nil }) {
          try ShortestPassword(connection: connection).lower(to: ShortestPassword.imported)
        }
        return try places.filter { try !insert(users[$0], connection) }
      }
      start = end
      progress(start)
      if case .shared = target, start < users.count { pause(Self.pauseBetweenBatches) }
    }
    return taken
  }

  private func insert(_ user: ImportedUser, _ connection: StoreConnection) throws -> Bool {
    let (now, records) = (time.now(), UserRecords(connection: connection))
    let id = UserID(ids.next())
    let account = Account(id, user.address, user.passwordHash, at: user.createdAt ?? now)
    guard try records.insert(account) else { return false }
    if user.isEmailVerified { try records.setEmailVerified(id, at: now) }
    if user.isDisabled { _ = try records.setDisabled(id, since: now) }
    return true
  }

  /// The store for writing.
  private enum Target {
    case alone(DurableStore)
    /// A server has the store of this file.
    case shared(SQLiteConnection)
    case database(StoreDatabase)

    init(_ store: ReadableStore, _ time: TimeSource) throws {
      switch store {
      case .file(let path, let migrator):
        try StorePath.expectFile(path)
        do {
          self = .alone(try DurableStore(path: path, time: time, migrator: migrator))
        } catch StoreError.inUse {
          // Checks the schema before anything is written.
          try store.read { _ in }
          let connection = try SQLiteConnection(storeAt: path, journal: .asFound)
          // The server runs the checkpoints.
          try connection.execute("PRAGMA wal_autocheckpoint = 0")
          self = .shared(connection)
        }
      case .database(let database): self = .database(database)
      }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (StoreConnection) throws -> Value) throws -> Value {
      switch self {
      case .alone(let store): try store.write(body)
      case .shared(let connection): try connection.transaction { try body(.sqlite(connection)) }
      case .database(let database): try database.write(body)
      }
    }

    func close() {
      if case .alone(let store) = self { store.close() }
    }
  }
}
