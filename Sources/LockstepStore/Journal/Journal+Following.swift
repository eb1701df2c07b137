import LockstepCollections
import LockstepTime

/// Reads for programs that follow one user's journal.
extension Journal {
  /// An entry with the name of its device, and with its texts as they are stored.
  package struct StoredEntry: Sendable {
    package let revision: Revision
    package let at: Timestamp
    package let session: String?
    package let device: String?
    package let agent: String?
    package let collection: String
    package let action: String
    package let mutations: String
  }

  /// The user's entries after a revision, oldest first: those of about `limit` entries, and only whole
  /// revisions.
  package func storedEntries(of user: UserID, after revision: Revision, limit: Int) throws -> [StoredEntry] {
    try connection.all(
      StoreSQL(
        sqlite: """
          SELECT j.revision, j.at, j.session_id, s.device, j.acted_by, j.collection, j.action, j.mutations
          FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
          WHERE j.user_id = ?1 AND j.revision > ?2 AND j.revision <= (
            SELECT max(revision) FROM (
              SELECT revision FROM journal WHERE user_id = ?1 AND revision > ?2 ORDER BY revision, position LIMIT ?3
            )
          )
          ORDER BY j.revision, j.position
          """,
        postgreSQL: """
          SELECT j.number << 20 | j.era, j.at, j.session_id, s.device, j.acted_by, j.collection, j.action, j.mutations
          FROM journal AS j LEFT JOIN sessions AS s ON s.user_id = j.user_id AND s.id = j.session_id
          WHERE j.user_id = ?1 AND j.number > ?2::bigint >> 20 AND j.number <= (
            SELECT max(number) FROM (
              SELECT number FROM journal WHERE user_id = ?1 AND number > ?2::bigint >> 20
              ORDER BY number, position LIMIT ?3
            ) AS next
          )
          ORDER BY j.number, j.position
          """
      ),
      user,
      revision,
      limit
    ) { row in
      StoredEntry(
        revision: try row[0],
        at: try row[1],
        session: try row[2],
        device: try row[3],
        agent: try row[4],
        collection: try row[5],
        action: try row[6],
        mutations: try row[7]
      )
    }
  }

  /// The revision before the user's last `count` entries, or before the revision that they begin with.
  package func revision(of user: UserID, beforeLast count: Int) throws -> Revision {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT revision FROM journal WHERE user_id = ? ORDER BY revision DESC, position DESC LIMIT 1 OFFSET ?",
        postgreSQL: """
          SELECT number << 20 | era FROM journal WHERE user_id = ? ORDER BY number DESC, position DESC LIMIT 1 OFFSET ?
          """
      ),
      user,
      count
    ) { try $0[0] } ?? .none
  }

  /// The user's last revision before a moment.
  package func revision(of user: UserID, before moment: Timestamp) throws -> Revision {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT coalesce(max(revision), 0) FROM journal WHERE user_id = ? AND at < ?",
        postgreSQL: "SELECT coalesce(max(number << 20 | era), 0) FROM journal WHERE user_id = ? AND at < ?"
      ),
      user,
      moment
    ) { try $0[0] } ?? .none
  }
}
