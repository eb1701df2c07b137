import LockstepCollections
import LockstepTime

/// The admin commands in the table `orders`.
package struct AdminCommandRecords {
  /// How long a row is kept, in milliseconds: ten minutes, far longer than a command waits.
  static let lifetime: Int64 = 600_000
  /// How long a command stays valid, in milliseconds. If the operator's program was killed, its
  /// command stays in the table. A server that starts hours later must not run it.
  static let validity: Int64 = 60_000

  package struct Status: Sendable, Equatable {
    package enum Progress: Sendable, Equatable {
      case pending
      /// A server has begun the work, and it cannot be withdrawn any more.
      case running
      /// All changes are on disk.
      case done
    }

    package let progress: Progress
    /// The outcome of a command on an account that is done.
    package let outcome: AdminCommand.Outcome?
    /// The reply to a command on declared collections that is done.
    package let reply: String?
    /// Whether the command's effects have reached the server's memory.
    package let isComplete: Bool

    package init(_ progress: Progress, outcome: AdminCommand.Outcome? = nil, reply: String? = nil, isComplete: Bool) {
      (self.progress, self.outcome, self.reply, self.isComplete) = (progress, outcome, reply, isComplete)
    }
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
    // The server that runs the command does not know the rules that the password was checked by.
    if let characters = command.shortestPassword { try ShortestPassword(connection: connection).lower(to: characters) }
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
    try connection.first(
      StoreSQL(
        sqlite: "SELECT outcome, settled_at, reply FROM orders WHERE id = ?",
        postgreSQL: "SELECT outcome, settled_at, NULL::text FROM orders WHERE id = ?"
      ),
      id
    ) { row in
      let outcome: String? = try row[0]
      return Status(
        outcome.map { $0 == Self.running ? .running : .done } ?? .pending,
        outcome: outcome.flatMap(AdminCommand.Outcome.init(rawValue:)),
        reply: try row[2],
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

// MARK: - Commands on declared collections

/// The rows of commands on declared collections. Only stores in SQLite have them: in PostgreSQL, such a
/// command is a node itself.
extension AdminCommandRecords {
  private static let collections = "collections"
  private static let running = "running"

  /// `work` is JSON.
  package func insert(collectionsWork work: String, id: String, at now: Timestamp) throws {
    try connection.run(
      "INSERT INTO orders (id, at, kind, work) VALUES (?, ?, ?, ?)",
      id,
      now,
      Self.collections,
      work
    )
  }

  package func isOnCollections(_ id: String) throws -> Bool {
    guard case .sqlite = connection else { return false }
    return try connection.first("SELECT kind FROM orders WHERE id = ?", id) { try $0[0] as String } == Self.collections
  }

  /// Marks a command as begun. Returns its work, also if a server that was killed had begun it. Nil if it was
  /// withdrawn or is done.
  package func beginCollectionsWork(_ id: String) throws -> String? {
    let work = try connection.first("SELECT work FROM orders WHERE id = ? AND settled_at IS NULL", id) { row in
      try row[0] as String?
    }
    guard let work, let work else { return nil }
    try connection.run("UPDATE orders SET outcome = ? WHERE id = ?", Self.running, id)
    return work
  }

  package func completeCollectionsWork(_ reply: String, _ id: String, at now: Timestamp) throws {
    try connection.run("UPDATE orders SET outcome = 'done', work = NULL, reply = ? WHERE id = ?", reply, id)
    try complete(id, at: now)
  }
}
