import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Reads and changes the accounts of a store for an operator's command.
///
/// If no server uses the store, this process locks the store and runs the admin command itself.
/// Otherwise it adds the command to the store and waits until the server has run it, so that the
/// server's memory matches the store.
package struct AccountAdministrator: Sendable {
  package static let patience = Duration.seconds(15)
  static let pollInterval = Duration.milliseconds(50)

  let store: ReadableStore
  let time: TimeSource
  let pause: @Sendable (Duration) -> Void
  let interruption: (any Interruption)?
  let randomWord: @Sendable () -> UInt64

  /// `pause` sleeps on this thread. `interruption` can withdraw a command that no server has run.
  package init(
    of store: StoreLocation,
    time: TimeSource = .system,
    interruption: (any Interruption)? = nil,
    pause: @escaping @Sendable (Duration) -> Void
  ) throws {
    self.store = try ReadableStore(store)
    self.time = time
    self.interruption = interruption
    self.pause = pause
    randomWord = try Sodium().randomWord
  }

  package func newUser() -> UserID {
    UserID(UUIDv7Generator(now: time.millisecondsSince1970, random: randomWord).next())
  }

  /// The next users after `last` in the order of their sign-ups; empty at the end. No transaction
  /// stays open.
  package func users(after last: UserID?) throws -> [UserListing] {
    try store.read { try UserListing.page(after: last, from: $0, at: time.now()) }
  }

  package func user(_ name: String) throws -> User {
    try store.read { connection in
      let users = UserRecords(connection: connection)
      let account =
        if let id = UserID(name) { try users.account(id) } else {
          try users.account(withKey: (try? EmailAddress(name))?.key ?? name)
        }
      guard let account else { throw MaintenanceError.noSuchUser(name) }
      return account.user
    }
  }

  /// Runs an admin command, and returns when its effects are complete.
  ///
  /// Throws `AdminCommandInterruptedError` after an interruption. A `MaintenanceError` means that
  /// nothing was changed.
  package func run(_ command: AdminCommand) throws {
    if case .file(let path, _) = store { try StorePath.expectFile(path) }
    switch try runAlone(command) ?? runByServer(command) ?? runAlone(command) {
    case .done: return
    case .noSuchUser: throw MaintenanceError.noSuchUser("\(command.user)")
    case .addressTaken:
      switch command.work {
      case .add(let address, _), .changeEmail(let address): throw MaintenanceError.addressTaken(address.text)
      default: return
      }
    case nil: throw MaintenanceError.notTaken(path: store.name)
    }
  }

  /// Runs the command in this process. Returns nil if a server uses the store.
  private func runAlone(_ command: AdminCommand) throws -> AdminCommand.Outcome? {
    let now = time.now()
    switch store {
    case .file(let path, let migrator):
      do {
        let store = try DurableStore(path: path, time: time, migrator: migrator)
        defer { store.close() }
        return try store.write { try command.run(in: $0, at: now).outcome }
      } catch StoreError.inUse {
        return nil
      }
    case .database(let database):
      return try database.write {
        try $0.isServed() ? nil : command.run(in: $0, at: now).outcome
      }
    }
  }

  // MARK: With a server

  /// Lets the server run the command. Nil if the command was withdrawn after a time-out.
  private func runByServer(_ command: AdminCommand) throws -> AdminCommand.Outcome? {
    let orders = try Orders(in: store)
    let id = hexadecimal((0..<16).map { _ in UInt8(truncatingIfNeeded: randomWord()) })
    // Once the command is in the store, the server runs it even if this process ends.
    interruption?.hold()
    defer { interruption?.release() }
    try orders.write { try $0.insert(command, id: id, at: time.now()) }
    let deadline = time.elapsed() + Self.patience
    while true {
      guard let status = try orders.read({ try $0.status(of: id) }) else {
        // A server has deleted the command, because it was not valid any more.
        return nil
      }
      if try status.isComplete || status.outcome != nil && !isServed {
        try orders.write { try $0.delete(id) }
        // The server has this program's schema, so each outcome that it writes is known here.
        return status.outcome ?? .done
      }
      if interruption?.isInterrupted == true {
        if try orders.withdraw(id) { throw AdminCommandInterruptedError.withdrawn }
        // If there is no outcome, the store was locked, and the loop tries again. If there is one,
        // the row stays, because the server deletes old rows.
        if let outcome = try orders.read({ try $0.status(of: id)?.outcome }) {
          throw AdminCommandInterruptedError.tooLate(outcome)
        }
      }
      if try time.elapsed() >= deadline || hasLostServers, try orders.withdraw(id) { return nil }
      pause(Self.pollInterval)
    }
  }

  /// Whether the leases of all servers are over. The servers of a database may have ended without a sign.
  private var hasLostServers: Bool {
    get throws {
      guard case .database(let database) = store else { return false }
      return try !database.read { try $0.isServed() }
    }
  }

  /// Whether a server uses the store now. If none does, no memory has to be updated.
  private var isServed: Bool {
    get throws {
      switch store {
      case .file(let path, _):
        guard let place = StorePath.resolved(path) else { return false }
        // The lock is released at once.
        return (try? StoreLock(store: place)) == nil
      case .database(let database): return try database.read { try $0.isServed() }
      }
    }
  }
}

/// The admin commands of a store that a server uses.
private enum Orders {
  case file(SQLiteConnection)
  case database(StoreDatabase)

  init(in store: ReadableStore) throws {
    switch store {
    case .file(let path, _):
      // Checks the schema before anything is written.
      try store.read { _ in }
      let connection = try SQLiteConnection(path: path, journal: .asFound)
      // The server runs the checkpoints. Deleted secrets must not stay in the file's free space.
      try connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON")
      self = .file(connection)
    case .database(let database): self = .database(database)
    }
  }

  func read<Result>(_ body: (AdminCommandRecords) throws -> Result) throws -> Result {
    switch self {
    case .file(let connection): try body(AdminCommandRecords(connection: .sqlite(connection)))
    case .database(let database): try database.read { try body(AdminCommandRecords(connection: $0)) }
    }
  }

  func write<Result>(_ body: (AdminCommandRecords) throws -> Result) throws -> Result {
    switch self {
    case .file(let connection):
      try connection.transaction { try body(AdminCommandRecords(connection: .sqlite(connection))) }
    case .database(let database):
      try database.write { try body(AdminCommandRecords(connection: $0)) }
    }
  }

  /// Returns whether the command was withdrawn. If it returns false, because the store is locked or
  /// the command has run, the caller must read the status and try again.
  func withdraw(_ id: String) throws -> Bool {
    do {
      return try write { try $0.withdraw(id) }
    } catch let error as SQLiteError where error.kind == .busy {
      return false
    } catch let error as PostgreSQLError where error.kind == .lockTimeout {
      return false
    }
  }
}

/// Receives interruptions such as Ctrl-C. While a server has an admin command, none of them may end
/// this process.
package protocol Interruption: Sendable {
  /// From now on, interruptions are only recorded.
  func hold()

  var isInterrupted: Bool { get }

  /// From now on, an interruption ends this process again.
  func release()
}

package enum AdminCommandInterruptedError: Error, Sendable, Equatable, CustomStringConvertible {
  case withdrawn
  /// The command had already run, with this outcome.
  case tooLate(AdminCommand.Outcome)

  package var description: String {
    switch self {
    case .withdrawn: "Interrupted. The admin command was withdrawn, and nothing was changed."
    case .tooLate(.done): "Interrupted too late: the server has run the admin command."
    case .tooLate(.noSuchUser): "Interrupted. There is no such user in the store, and nothing was changed."
    case .tooLate(.addressTaken): "Interrupted. A user with this address exists already, and nothing was changed."
    }
  }
}
