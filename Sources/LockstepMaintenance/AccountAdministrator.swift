import Glibc
import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Where an operator's command works on the accounts of a store, whether or not a server uses it.
///
/// Without a server the command does by itself what it's asked for, and keeps servers away meanwhile. With one it leaves an
/// order in the store, which the server takes, and waits until all of it is over: nothing that the server holds in memory is
/// changed behind its back.
public struct AccountAdministrator: Sendable {
  /// How long an order waits for the server.
  public static let patience = Duration.seconds(15)
  /// How often the command looks whether it's done.
  static let glance = Duration.milliseconds(50)

  /// The store's file.
  public let path: String
  let time: TimeSource
  let pause: @Sendable (Duration) -> Void
  let interruption: (any Interruption)?
  let randomWord: @Sendable () -> UInt64
  var migrator = Migrator()

  /// An office for the store in this file.
  ///
  /// - Parameters:
  ///   - path: The file, which must exist.
  ///   - time: Where the time comes from.
  ///   - interruption: Who may tell the command to end while a server has its order, which is withdrawn then.
  ///   - pause: Sleeps on this thread.
  /// - Throws: `Sodium.Unavailable` where there are no random numbers.
  public init(
    path: String,
    time: TimeSource = .system,
    interruption: (any Interruption)? = nil,
    pause: @escaping @Sendable (Duration) -> Void
  ) throws {
    self.path = path
    self.time = time
    self.interruption = interruption
    self.pause = pause
    randomWord = try Sodium().randomWord
  }

  private var now: Timestamp { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }

  /// An id for somebody who is to be added.
  public func newUser() -> UserID {
    UserID(UUIDv7Generator(now: time.millisecondsSince1970, random: randomWord).next())
  }

  /// Reads from the store, all of one moment, beside whoever uses it. What the store's schema is, is looked at first.
  func read<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
    guard StorePath.isFile(path) else { throw MaintenanceError.missing(path: path) }
    let connection = try SQLiteConnection(path: path, options: .init(access: .readOnly, journal: .asFound))
    return try connection.snapshot {
      let schema = try migrator.examine(connection)
      guard schema == migrator.last else {
        throw MaintenanceError.olderSchema(path: path, found: schema, known: migrator.last)
      }
      return try body(connection)
    }
  }

  /// The next users, in the order in which they signed up; none where there are no more. `last` is behind whom; nil: from the
  /// beginning. Nothing is held in the store when this returns.
  public func users(after last: UserID?) throws -> [UserListing] {
    try read { try UserListing.page(after: last, from: $0, at: now) }
  }

  /// Who is meant by an address or an id.
  public func user(_ name: String) throws -> User {
    try read { connection in
      let users = UserRecords(connection: connection)
      let account =
        if let id = UserID(name) { try users.account(id) } else {
          try users.account(withKey: (try? EmailAddress(name))?.key ?? name)
        }
      guard let account else { throw MaintenanceError.noSuchUser(name) }
      return account.user
    }
  }

  /// Has an order carried out, and returns when all of it is over.
  ///
  /// - Throws: `MaintenanceError`: that there is no such user, that the address is taken, or that the server that uses the store
  ///   doesn't take the order; `StoreError`, `SQLiteError`. Nothing was changed then. `AdminCommandInterruptedError`, which says what holds.
  public func carryOut(_ order: AdminCommand) throws {
    guard StorePath.isFile(path) else { throw MaintenanceError.missing(path: path) }
    switch try alone(order) ?? leave(order) ?? alone(order) {
    case .done: return
    case .noSuchUser: throw MaintenanceError.noSuchUser("\(order.user)")
    case .addressTaken:
      guard case .add(let address, _) = order.work else { return }
      throw MaintenanceError.addressTaken(address.text)
    case nil: throw MaintenanceError.notTaken(path: path)
    }
  }

  /// Does it; nil where a server uses the store.
  private func alone(_ order: AdminCommand) throws -> AdminCommand.Outcome? {
    do {
      let store = try DurableStore(path: path, time: time, migrator: migrator)
      defer { store.close() }
      let now = now
      return try store.write { try order.perform(in: $0, at: now).outcome }
    } catch StoreError.inUse {
      return nil
    }
  }

  // MARK: With a server

  /// Leaves it to the server; nil where that doesn't take it in time. Then it never will.
  private func leave(_ order: AdminCommand) throws -> AdminCommand.Outcome? {
    // Looked at before anything is written.
    try read { _ in }
    let connection = try SQLiteConnection(path: path, options: .init(journal: .asFound))
    // The server empties the log. What is overwritten must not stay in free space.
    try connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON")
    let records = AdminCommandRecords(connection: connection)
    let id = hexadecimal((0..<16).map { _ in UInt8(truncatingIfNeeded: randomWord()) })
    // From here on ending would leave an order that a server carries out though nobody waits for it.
    interruption?.hold()
    defer { interruption?.release() }
    try connection.transaction { try records.insert(order, id: id, at: now) }
    let deadline = time.elapsed() + Self.patience
    while true {
      if let standing = try records.standing(of: id), standing.isSettled || standing.outcome != nil && !isServed {
        try connection.transaction { try records.forget(id) }
        // A server that could write it has written it in a form that this program knows: they have the same schema.
        return standing.outcome ?? .done
      }
      if interruption?.hasCome == true {
        if try withdraw(id, connection) { throw AdminCommandInterruptedError.withdrawn }
        // Without an outcome the store is locked, and it's tried again. The server drops what it has done by itself.
        if let outcome = try records.standing(of: id)?.outcome { throw AdminCommandInterruptedError.tooLate(outcome) }
      }
      if time.elapsed() >= deadline, try withdraw(id, connection) { return nil }
      pause(Self.glance)
    }
  }

  /// Whether the order is withdrawn. Who has the store locked for too long is asked again: an order that stays is carried
  /// out.
  private func withdraw(_ id: String, _ connection: SQLiteConnection) throws -> Bool {
    do {
      return try connection.transaction { try AdminCommandRecords(connection: connection).withdraw(id) }
    } catch let error as SQLiteError where error.kind == .busy {
      return false
    }
  }

  /// Whether a server uses the store now: where none does, nothing is in any memory.
  private var isServed: Bool {
    guard let place = StorePath.resolved(path) else { return false }
    // Let go of at once.
    return (try? StoreLock(store: place)) == nil
  }
}
