import LockstepCollections
import LockstepTime

/// A user in the store.
package struct Account: Sendable {
  package let user: User
  package let emailKey: String
  package let passwordHash: PasswordHash
  /// Increases with each change of the password, but not when the same password gets a new hash.
  package let passwordVersion: Int
  package let passwordChangedAt: Timestamp
  package let isDisabled: Bool
}

extension Account {
  package init(_ id: UserID, _ address: EmailAddress, _ hash: PasswordHash, at now: Timestamp) {
    self.init(
      user: User(id: id, email: address.text, createdAt: now),
      emailKey: address.key,
      passwordHash: hash,
      passwordVersion: 1,
      passwordChangedAt: now,
      isDisabled: false
    )
  }
}

package struct UserRecords {
  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  package func account(withKey key: String) throws -> Account? {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT id FROM users WHERE email_key = ?",
        postgreSQL: "SELECT user_id FROM addresses WHERE email_key = ?"
      ),
      key
    ) { try $0[0] as UserID }
    .flatMap { try account($0) }
  }

  package func account(_ id: UserID) throws -> Account? {
    try connection.first(
      """
      SELECT id, email, created_at, email_key, password_hash, password_version, password_changed_at, disabled_at
      FROM users WHERE id = ?
      """,
      id,
      transform: Self.account
    )
  }

  package func has(_ id: UserID) throws -> Bool {
    try connection.first("SELECT 1 FROM users WHERE id = ?", id) { _ in true } ?? false
  }

  /// Inserts a user unless another user has the address. Returns whether the user was inserted.
  package func insert(_ account: Account) throws -> Bool {
    try connection.run(
      StoreSQL(
        sqlite: """
          INSERT INTO users (id, email, created_at, email_key, password_hash, password_version, password_changed_at)
          VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING
          """,
        postgreSQL: """
          WITH address AS (
            INSERT INTO addresses (email_key, user_id) VALUES (?4, ?1::uuid) ON CONFLICT DO NOTHING RETURNING user_id
          ),
          head AS (INSERT INTO heads (user_id, number, era, written) SELECT user_id, 0, 0, 0 FROM address)
          INSERT INTO users (id, email, created_at, email_key, password_hash, password_version, password_changed_at)
          SELECT user_id, ?2::text, ?3::bigint, ?4, ?5::text, ?6::bigint, ?7::bigint FROM address
          """
      ),
      account.user.id,
      account.user.email,
      account.user.createdAt,
      account.emailKey,
      account.passwordHash.text,
      account.passwordVersion,
      account.passwordChangedAt
    ) == 1
  }

  /// Stores a new hash of the same password.
  package func rehash(_ id: UserID, _ hash: PasswordHash) throws {
    try connection.run("UPDATE users SET password_hash = ? WHERE id = ?", hash.text, id)
  }

  package func changePassword(of id: UserID, to hash: PasswordHash, at now: Timestamp) throws {
    try connection.run(
      """
      UPDATE users SET password_hash = ?, password_version = password_version + 1, password_changed_at = ?
      WHERE id = ?
      """,
      hash.text,
      now,
      id
    )
  }

  /// Returns false, and changes nothing, if another user has the address.
  package func changeEmail(of id: UserID, to address: EmailAddress) throws -> Bool {
    if let other = try account(withKey: address.key), other.user.id != id { return false }
    if case .postgreSQL = connection, try !changeKey(of: id, to: address.key) { return false }
    try connection.run("UPDATE users SET email = ?, email_key = ? WHERE id = ?", address.text, address.key, id)
    return true
  }

  /// Changes the key in the table `addresses`. Returns false if another user has the key.
  private func changeKey(of id: UserID, to key: String) throws -> Bool {
    let present = try account(id)?.emailKey
    if present == key { return true }
    let inserted = try connection.run(
      "INSERT INTO addresses (email_key, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
      key,
      id
    )
    guard inserted == 1 else { return false }
    try connection.run("DELETE FROM addresses WHERE email_key = ?", present)
    return true
  }

  /// Disables the user since `moment`, or enables the user if `moment` is nil. Returns whether the
  /// user exists.
  package func setDisabled(_ id: UserID, since moment: Timestamp?) throws -> Bool {
    try connection.run("UPDATE users SET disabled_at = ? WHERE id = ?", moment, id) == 1
  }

  /// Deletes the user and every row that refers to the user. SQLite overwrites the data in the
  /// file, and the writer erases it from the WAL after the transaction.
  package func erase(_ id: UserID) throws {
    // If the last entry of the journal goes, no later entry may get its number.
    try connection.run(
      StoreSQL(
        sqlite: "UPDATE store SET journal_end = max(journal_end, (SELECT coalesce(max(number), 0) FROM journal))",
        postgreSQL:
          "UPDATE store SET journal_end = greatest(journal_end, (SELECT coalesce(max(place), 0) FROM journal))"
      )
    )
    try connection.run(
      StoreSQL(
        sqlite: "DELETE FROM users WHERE id = ?",
        postgreSQL: """
          WITH a AS (DELETE FROM addresses WHERE email_key = (SELECT email_key FROM users WHERE id = ?1)),
            t AS (DELETE FROM tokens WHERE token_hash IN (SELECT token_hash FROM sessions WHERE user_id = ?1)),
            s AS (DELETE FROM sessions WHERE user_id = ?1),
            l AS (DELETE FROM list_elements WHERE user_id = ?1), m AS (DELETE FROM map_values WHERE user_id = ?1),
            r AS (DELETE FROM removals WHERE user_id = ?1), j AS (DELETE FROM journal WHERE user_id = ?1),
            p AS (DELETE FROM snapshots WHERE user_id = ?1), k AS (DELETE FROM idempotency_keys WHERE user_id = ?1),
            h AS (DELETE FROM heads WHERE user_id = ?1)
          DELETE FROM users WHERE id = ?1
          """
      ),
      id
    )
    connection.announce { $0.heads[id] = .some(nil) }
    connection.eraseDeleted()
  }

  private static func account(_ row: borrowing StoreRow) throws -> Account {
    Account(
      user: User(id: try row[0], email: try row[1], createdAt: try row[2]),
      emailKey: try row[3],
      passwordHash: PasswordHash(try row[4]),
      passwordVersion: try row[5],
      passwordChangedAt: try row[6],
      isDisabled: try row[7] as Timestamp? != nil
    )
  }
}
