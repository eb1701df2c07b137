import LockstepCollections
import LockstepTime

/// A change to one user's account that an operator asks for.
package struct AdminCommand: Sendable {
  package enum Work: Sendable {
    case add(EmailAddress, PasswordHash)
    /// Refuses logins and ends all sessions.
    case disable
    case enable
    /// Sets another e-mail address. The sessions stay.
    case changeEmail(EmailAddress)
    /// Sets another password and ends all sessions.
    case resetPassword(PasswordHash)
    /// Deletes the user and all data.
    case erase
  }

  /// If the outcome is not `done`, nothing was changed.
  package enum Outcome: String, Sendable {
    case done
    case noSuchUser
    /// Another user has the address.
    case addressTaken
  }

  /// The user to change, or the id of the user to add.
  package let user: UserID
  package let work: Work

  package init(_ work: Work, _ user: UserID) {
    self.user = user
    self.work = work
  }

  /// The work in one word, as in the table and in the log.
  package var kind: String { columns.kind }

  fileprivate var columns: (kind: String, email: EmailAddress?, hash: PasswordHash?) {
    switch work {
    case .add(let email, let hash): ("add", email, hash)
    case .disable: ("disable", nil, nil)
    case .enable: ("enable", nil, nil)
    case .changeEmail(let email): ("changeEmail", email, nil)
    case .resetPassword(let hash): ("resetPassword", nil, hash)
    case .erase: ("erase", nil, nil)
    }
  }

  /// Runs the command within the connection's transaction. Returns the outcome and the sessions
  /// that have ended.
  package func run(
    in connection: StoreConnection,
    at now: Timestamp
  ) throws -> (outcome: Outcome, ended: [EndedSession]) {
    let users = UserRecords(connection: connection)
    if case .add(let address, let hash) = work {
      return (try users.insert(Account(user, address, hash, at: now)) ? .done : .addressTaken, [])
    }
    guard try connection.lock(user) else { return (.noSuchUser, []) }
    switch work {
    case .enable:
      _ = try users.setDisabled(user, since: nil)
      return (.done, [])
    case .changeEmail(let address):
      return (try users.changeEmail(of: user, to: address) ? .done : .addressTaken, [])
    default: break
    }
    // Ends the sessions first, because erasing a user deletes them too.
    let ended = try SessionRecords(connection: connection).endAll(of: user)
    switch work {
    case .disable: _ = try users.setDisabled(user, since: now)
    case .resetPassword(let hash): try users.changePassword(of: user, to: hash, at: now)
    case .erase: try users.erase(user)
    case .add, .enable, .changeEmail: break
    }
    return (.done, ended)
  }
}

/// The admin commands in the table `orders`.
package struct AdminCommandRecords {
  /// How long a row is kept, in milliseconds: ten minutes, far longer than `lockstep user` waits.
  static let lifetime: Int64 = 600_000
  /// How long a command stays valid, in milliseconds. If `lockstep user` was killed, its command
  /// stays in the table. A server that starts hours later must not run it.
  static let validity: Int64 = 60_000

  package struct Status: Sendable, Equatable {
    /// Nil while the command is pending.
    package let outcome: AdminCommand.Outcome?
    /// Whether the command's effects have reached the server's memory.
    package let isComplete: Bool
  }

  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// The time in the table. In PostgreSQL, it is the time of the database, because the clocks of the
  /// servers and of the operator's machine may differ.
  private func time(_ now: Timestamp) throws -> Timestamp {
    guard case .postgreSQL = connection else { return now }
    let sql: StaticString = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    return try connection.first(StoreSQL(sqlite: "", postgreSQL: sql)) { try $0[0] as Timestamp } ?? now
  }

  package func insert(_ command: AdminCommand, id: String, at now: Timestamp) throws {
    let columns = command.columns
    let now = try time(now)
    try connection.run(
      "INSERT INTO orders (id, at, kind, user_id, email, password_hash) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      now,
      columns.kind,
      command.user,
      columns.email?.text,
      columns.hash?.text
    )
  }

  /// How long another server may take to complete a command that it has run, in milliseconds.
  private static let completion: Int64 = 10_000

  /// The commands that are not complete, oldest first, and whether a server has run them. Commands that
  /// another server completes at present are left out.
  package func incomplete(at now: Timestamp) throws -> [(id: String, hasRun: Bool)] {
    var latest = Int64.max
    if case .postgreSQL = connection { latest = try time(now).millisecondsSince1970 - Self.completion }
    return try connection.all(
      """
      SELECT id, CASE WHEN outcome IS NULL THEN 0 ELSE 1 END FROM orders
      WHERE settled_at IS NULL AND (outcome IS NULL OR at < ?) ORDER BY at, id
      """,
      latest
    ) { row in (try row[0], try row[1] as Int == 1) }
  }

  /// Deletes pending commands that are no longer valid.
  package func deleteStale(at now: Timestamp) throws {
    try connection.run(
      "DELETE FROM orders WHERE outcome IS NULL AND at < ?",
      time(now).millisecondsSince1970 - Self.validity
    )
  }

  /// The command if it is pending. Nil if it was withdrawn, has run, or cannot be read.
  package func pending(_ id: String) throws -> AdminCommand? {
    try connection.first(
      "SELECT kind, user_id, email, password_hash FROM orders WHERE id = ? AND outcome IS NULL",
      id
    ) { row -> AdminCommand? in
      let (kind, user): (String, UserID) = (try row[0], try row[1])
      let address = try (row[2] as String?).flatMap { try? EmailAddress($0) }
      let hash = try (row[3] as String?).map { PasswordHash($0) }
      switch (kind, address, hash) {
      case ("add", let address?, let hash?): return AdminCommand(.add(address, hash), user)
      case ("disable", _, _): return AdminCommand(.disable, user)
      case ("enable", _, _): return AdminCommand(.enable, user)
      case ("changeEmail", let address?, _): return AdminCommand(.changeEmail(address), user)
      case ("resetPassword", _, let hash?): return AdminCommand(.resetPassword(hash), user)
      case ("erase", _, _): return AdminCommand(.erase, user)
      default: return nil
      }
    }
    .flatMap { $0 }
  }

  /// Records the outcome, and removes the user, the address and the hash from the row.
  package func setOutcome(_ outcome: AdminCommand.Outcome, of id: String) throws {
    try connection.run(
      "UPDATE orders SET outcome = ?, user_id = NULL, email = NULL, password_hash = NULL WHERE id = ?",
      outcome.rawValue,
      id
    )
  }

  /// Marks a command as complete, and deletes old rows.
  package func complete(_ id: String, at now: Timestamp) throws {
    let now = try time(now)
    try connection.run("UPDATE orders SET settled_at = ? WHERE id = ?", now, id)
    try connection.run("DELETE FROM orders WHERE at < ?", now.millisecondsSince1970 - Self.lifetime)
  }

  package func status(of id: String) throws -> Status? {
    try connection.first("SELECT outcome, settled_at FROM orders WHERE id = ?", id) { row in
      Status(
        outcome: try (row[0] as String?).flatMap(AdminCommand.Outcome.init(rawValue:)),
        isComplete: try (row[1] as Timestamp?) != nil
      )
    }
  }

  /// Deletes a pending command. Returns whether it was still pending.
  package func withdraw(_ id: String) throws -> Bool {
    // A server may be about to run the command.
    try connection.lock(Array("order \(id)".utf8))
    return try connection.run("DELETE FROM orders WHERE id = ? AND outcome IS NULL", id) == 1
  }

  package func delete(_ id: String) throws {
    try connection.run("DELETE FROM orders WHERE id = ?", id)
  }
}
