import LockstepCollections
import LockstepStore
import LockstepTime

/// A user as an administrator sees them.
package struct UserListing: Sendable, Equatable {
  package let user: User
  package let disabledAt: Timestamp?
  /// Increases with each change of the password.
  package let passwordVersion: Int
  package let sessions: Int
  /// To the minute; `nil` if the user has no sessions.
  package let lastSeenAt: Timestamp?
  /// The user of another issuer of tokens; nil if the user has none.
  package let identity: Identity?

  /// A new user, who has no session.
  package init(new user: User) {
    self.init(user: user, disabledAt: nil, passwordVersion: 1, sessions: 0, lastSeenAt: nil)
  }

  init(
    user: User,
    disabledAt: Timestamp?,
    passwordVersion: Int,
    sessions: Int,
    lastSeenAt: Timestamp?,
    identity: Identity? = nil
  ) {
    self.user = user
    self.disabledAt = disabledAt
    self.passwordVersion = passwordVersion
    self.sessions = sessions
    self.lastSeenAt = lastSeenAt
    self.identity = identity
  }

  /// The next users after `last` in the order of their sign-ups. Expired sessions do not count.
  package static func page(
    after last: UserID?,
    limit: Int = 500,
    from connection: StoreConnection,
    at now: Timestamp
  ) throws -> [UserListing] {
    try connection.all(
      """
      SELECT u.id, u.email, u.created_at, u.disabled_at, u.password_version, count(s.id), max(s.last_seen_at),
        u.email_verified_at, CASE WHEN u.password_hash IS NULL THEN 0 ELSE 1 END, max(i.issuer), max(i.subject)
      FROM users AS u LEFT JOIN identities AS i ON i.user_id = u.id
        LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?
      WHERE u.id > ? GROUP BY u.id ORDER BY u.id LIMIT ?
      """,
      now,
      last?.description ?? "00000000-0000-0000-0000-000000000000",
      limit,
      transform: listing
    )
  }

  /// The next users whose e-mail addresses begin with `prefix`, in the order of their addresses.
  /// `last` is the e-mail key of the last user before them.
  package static func page(
    withPrefix prefix: String,
    after last: String?,
    limit: Int,
    from connection: StoreConnection,
    at now: Timestamp
  ) throws -> [UserListing] {
    let prefix = EmailAddress.key(of: prefix)
    return try connection.all(
      StoreSQL(
        sqlite: """
          SELECT u.id, u.email, u.created_at, u.disabled_at, u.password_version, count(s.id), max(s.last_seen_at),
            u.email_verified_at, CASE WHEN u.password_hash IS NULL THEN 0 ELSE 1 END, max(i.issuer), max(i.subject)
          FROM users AS u LEFT JOIN identities AS i ON i.user_id = u.id
            LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?1
          WHERE u.email_key > ?2 AND u.email_key >= ?3 AND substr(u.email_key, 1, length(?3)) = ?3
            AND u.email_key < ?3 || ?4
          GROUP BY u.email_key ORDER BY u.email_key LIMIT ?5
          """,
        postgreSQL: """
          SELECT u.id, u.email, u.created_at, u.disabled_at, u.password_version, count(s.id), max(s.last_seen_at),
            u.email_verified_at, CASE WHEN u.password_hash IS NULL THEN 0 ELSE 1 END, max(i.issuer), max(i.subject)
          FROM users AS u LEFT JOIN identities AS i ON i.user_id = u.id
            LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?1
          WHERE u.email_key > ?2 AND u.email_key >= ?3 AND substr(u.email_key, 1, length(?3)) = ?3
            AND u.email_key < ?3 || ?4
          GROUP BY u.id ORDER BY u.email_key LIMIT ?5
          """
      ),
      now,
      last ?? "",
      prefix,
      // Greater than any character that an address may contain.
      "\u{10FFFF}",
      limit,
      transform: listing
    )
  }

  /// One user; nil if there is none.
  package static func of(
    _ user: UserID,
    from connection: StoreConnection,
    at now: Timestamp
  ) throws -> UserListing? {
    try connection.first(
      """
      SELECT u.id, u.email, u.created_at, u.disabled_at, u.password_version, count(s.id), max(s.last_seen_at),
        u.email_verified_at, CASE WHEN u.password_hash IS NULL THEN 0 ELSE 1 END, max(i.issuer), max(i.subject)
      FROM users AS u LEFT JOIN identities AS i ON i.user_id = u.id
        LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?
      WHERE u.id = ? GROUP BY u.id
      """,
      now,
      user,
      transform: listing
    )
  }

  private static func listing(_ row: borrowing StoreRow) throws -> UserListing {
    let verifiedAt: Timestamp? = try row[7]
    let (address, issuer, subject): (String?, String?, String?) = (try row[1], try row[9], try row[10])
    return UserListing(
      user: User(
        id: try row[0],
        email: address,
        isEmailVerified: verifiedAt != nil,
        isAnonymous: try row.integer(at: 8) == 0 && address == nil && issuer == nil,
        createdAt: try row[2]
      ),
      disabledAt: try row[3],
      passwordVersion: try row[4],
      sessions: try row[5],
      lastSeenAt: try row[6],
      identity: issuer.map { Identity(issuer: $0, subject: subject ?? "") }
    )
  }
}
