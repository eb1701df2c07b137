import LockstepCollections
import LockstepJSON
import LockstepTime

/// A user in the store.
package struct Account: Sendable {
  package let user: User
  package let emailKey: String?
  /// Nil if the user has no password.
  package let passwordHash: PasswordHash?
  /// Increases with each change of the password, but not when the same password gets a new hash.
  package let passwordVersion: Int
  package let passwordChangedAt: Timestamp
  package let isDisabled: Bool
  package let hasIdentity: Bool

  /// Whether there is another way to log in than the token of a session.
  package var hasCredentials: Bool { passwordHash != nil || hasIdentity }
}

extension Account {
  package init(_ id: UserID, _ address: EmailAddress, _ hash: PasswordHash?, at now: Timestamp) {
    self.init(
      user: User(id: id, email: address.text, createdAt: now),
      emailKey: address.key,
      passwordHash: hash,
      passwordVersion: hash == nil ? 0 : 1,
      passwordChangedAt: now,
      isDisabled: false,
      hasIdentity: false
    )
  }

  /// A user without an address and without a password.
  package init(withoutPassword id: UserID, hasIdentity: Bool, at now: Timestamp) {
    self.init(
      user: User(id: id, email: nil, isAnonymous: !hasIdentity, createdAt: now),
      emailKey: nil,
      passwordHash: nil,
      passwordVersion: 0,
      passwordChangedAt: now,
      isDisabled: false,
      hasIdentity: hasIdentity
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
      SELECT u.id, u.email, u.email_verified_at, u.created_at, u.email_key, u.password_hash, u.password_version,
        u.password_changed_at, u.disabled_at, i.user_id
      FROM users AS u LEFT JOIN identities AS i ON i.user_id = u.id WHERE u.id = ?
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
    if account.emailKey == nil {
      try insertWithoutAddress(account)
    } else if try !insertWithAddress(account) {
      return false
    }
    let event = WebhookEvent(.userCreated, of: account.user.id, at: account.user.createdAt)
    try WebhookOutbox(connection: connection).add(event)
    return true
  }

  private func insertWithAddress(_ account: Account) throws -> Bool {
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
      account.passwordHash?.text,
      account.passwordVersion,
      account.passwordChangedAt
    ) == 1
  }

  private func insertWithoutAddress(_ account: Account) throws {
    try connection.run(
      StoreSQL(
        sqlite: "INSERT INTO users (id, created_at, password_version, password_changed_at) VALUES (?, ?, ?, ?)",
        postgreSQL: """
          WITH head AS (INSERT INTO heads (user_id, number, era, written) VALUES (?1::uuid, 0, 0, 0))
          INSERT INTO users (id, created_at, password_version, password_changed_at) VALUES (?1, ?2, ?3, ?4)
          """
      ),
      account.user.id,
      account.user.createdAt,
      account.passwordVersion,
      account.passwordChangedAt
    )
  }

  /// Gives an address and a first password to a user without an address. Returns false, and changes
  /// nothing, if another user has the address.
  package func setCredentials(
    of id: UserID,
    _ address: EmailAddress,
    _ hash: PasswordHash,
    at now: Timestamp
  ) throws -> Bool {
    guard try changeEmail(of: id, to: address) else { return false }
    try changePassword(of: id, to: hash, at: now)
    return true
  }

  /// Stores a new hash of the same password.
  package func rehash(_ id: UserID, _ hash: PasswordHash) throws {
    try connection.run("UPDATE users SET password_hash = ? WHERE id = ?", hash.text, id)
  }

  /// Changes the password. Links in mails that were sent before no longer work.
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
    try MailLinkRecords(connection: connection).removeAll(of: id)
  }

  /// Changes the address, which then is not verified. Links in mails that were sent before no longer
  /// work. Returns false, and changes nothing, if another user has the address.
  package func changeEmail(of id: UserID, to address: EmailAddress) throws -> Bool {
    if let other = try account(withKey: address.key), other.user.id != id { return false }
    if case .postgreSQL = connection, try !changeKey(of: id, to: address.key) { return false }
    try connection.run(
      "UPDATE users SET email = ?, email_key = ?, email_verified_at = NULL WHERE id = ?",
      address.text,
      address.key,
      id
    )
    try MailLinkRecords(connection: connection).removeAll(of: id)
    return true
  }

  /// Changes the key in the table `addresses`. Returns false if another user has the key.
  private func changeKey(of id: UserID, to key: String) throws -> Bool {
    let present = try account(id)?.emailKey
    if present?.exact == key.exact { return true }
    let inserted = try connection.run(
      "INSERT INTO addresses (email_key, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
      key,
      id
    )
    guard inserted == 1 else { return false }
    try connection.run("DELETE FROM addresses WHERE email_key = ?", present)
    return true
  }

  /// Notes that the address was verified, here or by the system that the user comes from.
  package func setEmailVerified(_ id: UserID, at moment: Timestamp) throws {
    try connection.run("UPDATE users SET email_verified_at = ? WHERE id = ?", moment, id)
  }

  /// Disables the user since `moment`, or enables the user if `moment` is nil. Returns whether the
  /// user exists.
  package func setDisabled(_ id: UserID, since moment: Timestamp?) throws -> Bool {
    try connection.run("UPDATE users SET disabled_at = ? WHERE id = ?", moment, id) == 1
  }

  /// Deletes the user and every row that refers to the user. SQLite overwrites the data in the
  /// file, and the writer erases it from the WAL after the transaction.
  package func erase(_ id: UserID, at now: Timestamp) throws {
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
            h AS (DELETE FROM heads WHERE user_id = ?1), i AS (DELETE FROM identities WHERE user_id = ?1),
            n AS (DELETE FROM mail_links WHERE user_id = ?1)
          DELETE FROM users WHERE id = ?1
          """
      ),
      id
    )
    try WebhookOutbox(connection: connection).addErasure(of: id, at: now)
    connection.announce { $0.heads[id] = .some(nil) }
    connection.eraseDeleted()
  }

  private static func account(_ row: borrowing StoreRow) throws -> Account {
    let verifiedAt: Timestamp? = try row[2]
    let (address, hash): (String?, String?) = (try row[1], try row[5])
    let identity: UserID? = try row[9]
    return Account(
      user: User(
        id: try row[0],
        email: address,
        isEmailVerified: verifiedAt != nil,
        isAnonymous: address == nil && hash == nil && identity == nil,
        createdAt: try row[3]
      ),
      emailKey: try row[4],
      passwordHash: hash.map { PasswordHash($0) },
      passwordVersion: try row[6],
      passwordChangedAt: try row[7],
      isDisabled: try row[8] as Timestamp? != nil,
      hasIdentity: identity != nil
    )
  }
}
