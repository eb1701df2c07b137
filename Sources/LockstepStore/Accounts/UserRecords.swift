import LockstepCollections
import LockstepSQLite
import LockstepTime

/// What the store knows of a user.
package struct Account: Sendable {
  package var user: User
  var emailKey: String
  package var passwordHash: PasswordHash
  /// Goes up with each change of the password, and not when the same one is hashed anew.
  package var passwordVersion: Int
  package var passwordChangedAt: Timestamp
  package var isDisabled: Bool

  package init(
    user: User,
    emailKey: String,
    passwordHash: PasswordHash,
    passwordVersion: Int,
    passwordChangedAt: Timestamp,
    isDisabled: Bool
  ) {
    self.user = user
    self.emailKey = emailKey
    self.passwordHash = passwordHash
    self.passwordVersion = passwordVersion
    self.passwordChangedAt = passwordChangedAt
    self.isDisabled = isDisabled
  }
}

/// The table `users`, within the transaction that the connection is in.
package struct UserRecords {
  let connection: SQLiteConnection

  package init(connection: SQLiteConnection) {
    self.connection = connection
  }

  package func account(withKey key: String) throws -> Account? {
    try connection.first(
      """
      SELECT id, email, created_at, email_key, password_hash, password_version, password_changed_at, disabled_at
      FROM users WHERE email_key = ?
      """,
      key,
      transform: Self.account
    )
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

  /// Adds a user, unless another user has the address. Whether the user was added.
  package func insert(_ account: Account) throws -> Bool {
    try connection.run(
      """
      INSERT INTO users (id, email, created_at, email_key, password_hash, password_version, password_changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING
      """,
      account.user.id,
      account.user.email,
      account.user.createdAt,
      account.emailKey,
      account.passwordHash.text,
      account.passwordVersion,
      account.passwordChangedAt
    ) == 1
  }

  /// The same password under a new hash.
  package func rehash(_ id: UserID, _ hash: PasswordHash) throws {
    try connection.run("UPDATE users SET password_hash = ? WHERE id = ?", hash.text, id)
  }

  /// Another password.
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

  /// Disables the account since then, or enables it (nil). Whether there is such a user.
  package func setDisabled(_ id: UserID, since moment: Timestamp?) throws -> Bool {
    try connection.run("UPDATE users SET disabled_at = ? WHERE id = ?", moment, id) == 1
  }

  /// Deletes the user, and with them every row of any table that refers to them. What the rows held is overwritten in the
  /// file, and leaves the log with it.
  package func erase(_ id: UserID) throws {
    try connection.run("DELETE FROM users WHERE id = ?", id)
    connection.eraseLog()
  }

  private static func account(_ row: borrowing SQLiteRow) throws -> Account {
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
