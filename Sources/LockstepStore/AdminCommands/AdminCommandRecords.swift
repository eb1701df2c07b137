import LockstepCollections
import LockstepSQLite
import LockstepTime

/// The table `orders`, within the transaction that the connection is in.
package struct AdminCommandRecords {
  /// How long a row stays, in milliseconds: ten minutes, far longer than a command waits.
  static let lifetime: Int64 = 600_000
  /// After how long nobody waits for an order any more, in milliseconds: what a command that was killed has left must not be
  /// done by a server that is started hours later.
  static let validity: Int64 = 60_000

  /// What is known of an order that a command waits for.
  package struct Standing: Sendable, Equatable {
    package let outcome: AdminCommand.Outcome?
    package let isSettled: Bool
  }

  let connection: SQLiteConnection

  package init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// Asks for something.
  package func insert(_ order: AdminCommand, id: String, at now: Timestamp) throws {
    var (address, hash): (EmailAddress?, PasswordHash?) = (nil, nil)
    switch order.work {
    case .add(let given, let made): (address, hash) = (given, made)
    case .resetPassword(let made): hash = made
    case .disable, .enable, .erase: break
    }
    try connection.run(
      "INSERT INTO orders (id, at, kind, user_id, email, password_hash) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      now,
      order.kind,
      order.user,
      address?.text,
      hash?.text
    )
  }

  /// Those that haven't been settled, oldest first.
  package func unsettled() throws -> [String] {
    try connection.all("SELECT id FROM orders WHERE settled_at IS NULL ORDER BY at, id") { row in try row[0] }
  }

  /// Drops those that nobody waits for any more.
  package func dropStale(at now: Timestamp) throws {
    try connection.run(
      "DELETE FROM orders WHERE outcome IS NULL AND at < ?",
      now.millisecondsSince1970 - Self.validity
    )
  }

  /// What an order asks for; nil where it was withdrawn, is done already, or can't be read.
  package func waiting(_ id: String) throws -> AdminCommand? {
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
      case ("resetPassword", _, let hash?): return AdminCommand(.resetPassword(hash), user)
      case ("erase", _, _): return AdminCommand(.erase, user)
      default: return nil
      }
    }
    .flatMap { $0 }
  }

  /// Notes what became of an order, and forgets whom it was about and its secrets.
  package func note(_ outcome: AdminCommand.Outcome, of id: String) throws {
    try connection.run(
      "UPDATE orders SET outcome = ?, user_id = NULL, email = NULL, password_hash = NULL WHERE id = ?",
      outcome.rawValue,
      id
    )
  }

  /// Notes that all of an order is over, and lets old ones go.
  package func settle(_ id: String, at now: Timestamp) throws {
    try connection.run("UPDATE orders SET settled_at = ? WHERE id = ?", now, id)
    try connection.run("DELETE FROM orders WHERE at < ?", now.millisecondsSince1970 - Self.lifetime)
  }

  /// How an order stands; nil where there is none.
  package func standing(of id: String) throws -> Standing? {
    try connection.first("SELECT outcome, settled_at FROM orders WHERE id = ?", id) { row in
      Standing(
        outcome: try (row[0] as String?).flatMap(AdminCommand.Outcome.init(rawValue:)),
        isSettled: try (row[1] as Timestamp?) != nil
      )
    }
  }

  /// Withdraws an order that nobody has begun. Whether it was withdrawn.
  package func withdraw(_ id: String) throws -> Bool {
    try connection.run("DELETE FROM orders WHERE id = ? AND outcome IS NULL", id) == 1
  }

  /// Forgets an order whose outcome is known.
  package func forget(_ id: String) throws {
    try connection.run("DELETE FROM orders WHERE id = ?", id)
  }
}
