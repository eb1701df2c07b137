import SQLite

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

  /// Gives all users of a store to `body`, in the order in which they signed up.
  ///
  /// - Parameters:
  ///   - connection: The store, in a transaction.
  ///   - now: Sessions that have expired by then aren't counted.
  ///   - body: Told of each.
  /// - Throws: `SQLiteError`, and what `body` throws.
  public static func forEach(
    in connection: Connection,
    at now: Timestamp,
    _ body: (UserListing) throws -> Void
  ) throws {
    try connection.forEach(
      """
      SELECT u.id, u.email, u.created_at, u.disabled_at, count(s.id), max(s.last_seen_at)
      FROM users AS u LEFT JOIN sessions AS s ON s.user_id = u.id AND s.expires_at > ?
      GROUP BY u.id ORDER BY u.id
      """,
      now
    ) { row in
      try body(
        UserListing(
          user: User(id: try row[0], email: try row[1], createdAt: try row[2]),
          disabledAt: try row[3],
          sessions: try row[4],
          lastSeenAt: try row[5]
        )
      )
    }
  }
}
