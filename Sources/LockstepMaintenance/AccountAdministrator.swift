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
  let store: ReadableStore
  let time: TimeSource
  let servers: CommandExchange
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
    randomWord = try Sodium().randomWord
    servers = CommandExchange(self.store, time, interruption, randomWord, pause: pause)
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

  /// Lets the server run the command. Nil if the command was withdrawn after a time-out.
  private func runByServer(_ command: AdminCommand) throws -> AdminCommand.Outcome? {
    let status = try servers.run { records, id, now in
      try records.insert(command, id: id, at: now)
    } goOn: { _ in
      nil
    }
    // The server has this program's schema, so each outcome that it writes is known here.
    return status.map { $0.outcome ?? .done }
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
}

package enum AdminCommandInterruptedError: Error, Sendable, Equatable, CustomStringConvertible {
  case withdrawn
  /// The command had already run, with this outcome.
  case tooLate(AdminCommand.Outcome)
  /// The server had begun to change declared collections.
  case begun

  package var description: String {
    switch self {
    case .withdrawn: "Interrupted. The admin command was withdrawn, and nothing was changed."
    case .begun: "Interrupted too late: the server has begun to run the admin command, and finishes it."
    case .tooLate(.done): "Interrupted too late: the server has run the admin command."
    case .tooLate(.noSuchUser): "Interrupted. There is no such user in the store, and nothing was changed."
    case .tooLate(.addressTaken): "Interrupted. A user with this address exists already, and nothing was changed."
    }
  }
}
