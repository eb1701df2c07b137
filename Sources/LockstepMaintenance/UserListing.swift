import LockstepCollections
import LockstepSQLite
import LockstepTime

package struct UserListing: Sendable, Equatable {
  package let user: User
  package let disabledAt: Timestamp?
  package let sessions: Int
  /// To the minute; `nil` if the user has no sessions.
  package let lastSeenAt: Timestamp?

  /// The next users after `last` in the order of their sign-ups. Expired sessions do not count.
  static func page(
    after last: UserID?,
    limit: Int = 500,
    from connection: SQLiteConnection,
    at now: Timestamp
  ) throws -> [UserListing] {
    try connection.all(
      """
      SELECT u.id, u.email, u.created_at, u.disabled_at, count(s.id), max(s.last_seen_at)
      FROM users AS u LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?
      WHERE u.id > ? GROUP BY u.id ORDER BY u.id LIMIT ?
      """,
      now,
      last?.description ?? "",
      limit
    ) { row in
      UserListing(
        user: User(id: try row[0], email: try row[1], createdAt: try row[2]),
        disabledAt: try row[3],
        sessions: try row[4],
        lastSeenAt: try row[5]
      )
    }
  }
}
