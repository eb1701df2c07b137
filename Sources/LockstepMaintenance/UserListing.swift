import LockstepCollections
import LockstepSQLite
import LockstepTime

/// What an operator sees of a user.
public struct UserListing: Sendable, Equatable {
  /// Who it is.
  public let user: User
  /// Since when nobody may log in; nil as a rule.
  public let disabledAt: Timestamp?
  /// How many devices are logged in.
  public let sessions: Int
  /// When one of them was last seen, to the minute; nil where none is logged in.
  public let lastSeenAt: Timestamp?

  /// Some of a store's users, in the order in which they signed up.
  ///
  /// - Parameters:
  ///   - last: Behind whom to begin; nil: at the beginning.
  ///   - limit: How many at most.
  ///   - connection: The store, in a transaction.
  ///   - now: Sessions that have expired by then aren't counted.
  /// - Returns: The users; none where there are no more.
  /// - Throws: `SQLiteError`.
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
