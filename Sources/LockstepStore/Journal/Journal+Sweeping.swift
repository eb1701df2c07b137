import LockstepCollections
import LockstepTime

/// Some users that follow each other in the order of their ids.
package struct HistoryShare: Sendable {
  /// The users of the share whose oldest history may be pruned.
  package var aged: [UserID] = []
  /// The last user of the share; nil if no user follows.
  package var last: UserID?
}

extension Journal {
  /// Looks at up to `limit` users after `user`. The history of a user is aged if its first revision is
  /// from before `moment`, and at least `revisions` revisions follow that one.
  package func share(
    after user: UserID?,
    limit: Int,
    agedBefore moment: Timestamp,
    beyond revisions: Int
  ) throws -> HistoryShare {
    // In SQLite, the entry itself is read only if enough revisions follow. The rest is in the index.
    let rows = try connection.all(
      StoreSQL(
        sqlite: """
          SELECT id, CASE
            WHEN (SELECT revision >> 20 FROM journal WHERE user_id = id ORDER BY revision DESC LIMIT 1)
              - (SELECT revision >> 20 FROM journal WHERE user_id = id ORDER BY revision LIMIT 1) >= ?2
            THEN (SELECT at FROM journal WHERE user_id = id ORDER BY revision, position LIMIT 1) < ?3
            ELSE 0
          END
          FROM users WHERE id > coalesce(?1, '') ORDER BY id LIMIT ?4
          """,
        postgreSQL: """
          SELECT h.user_id, coalesce(h.number - f.number >= ?2 AND f.at < ?3, false)::int
          FROM (
            SELECT user_id, number FROM heads
            WHERE user_id > coalesce(?1::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY user_id LIMIT ?4
          ) AS h
          LEFT JOIN LATERAL (
            SELECT number, at FROM journal WHERE user_id = h.user_id ORDER BY number, position LIMIT 1
          ) AS f ON true
          ORDER BY h.user_id
          """
      ),
      user,
      revisions,
      moment,
      limit
    ) { (user: try $0[0] as UserID, isAged: try $0[1] as Int == 1) }
    return HistoryShare(
      aged: rows.filter(\.isAged).map(\.user),
      last: rows.count < limit ? nil : rows.last?.user
    )
  }

  /// The last revision up to the one with this number whose last entry is from before `moment`.
  package func lastRevision(of user: UserID, upTo number: Int, before moment: Timestamp) throws -> Revision? {
    try connection.first(
      StoreSQL(
        sqlite: """
          SELECT revision FROM journal WHERE user_id = ? AND revision < ? AND at < ?
          ORDER BY revision DESC, position DESC LIMIT 1
          """,
        postgreSQL: """
          SELECT number << 20 | era FROM journal WHERE user_id = ? AND number < ?::bigint >> 20 AND at < ?
          ORDER BY number DESC, position DESC LIMIT 1
          """
      ),
      user,
      Revision(number: number + 1),
      moment
    ) { try $0[0] }
  }
}
