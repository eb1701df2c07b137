import JSON
import SQLite

/// The table `journal`: what was asked for and what did happen, in order.
struct Journal {
  /// One action that changed something.
  struct Entry: Sendable {
    let revision: Int
    let position: Int
    let collection: CollectionName
    let at: Timestamp
    let session: SessionID?
    /// JSON, as it's told to clients.
    let action: String
    /// JSON, as it's told to clients.
    let mutations: String
  }

  let connection: Connection

  /// Adds what an action did.
  func add(_ entry: Entry, of user: UserID) throws {
    try connection.run(
      """
      INSERT INTO journal (user_id, revision, position, collection, at, session_id, action, mutations)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      user,
      entry.revision,
      entry.position,
      entry.collection.description,
      entry.at,
      entry.session,
      entry.action,
      entry.mutations
    )
  }

  /// The user's last revision; 0 where nothing was ever changed. The journal's last entry is never pruned.
  func lastRevision(of user: UserID) throws -> Int {
    try connection.first("SELECT max(revision) FROM journal WHERE user_id = ?", user) { try $0[0] as Int? }.flatMap {
      $0
    } ?? 0
  }

  /// The first revision that is still in the journal; nil where it's empty.
  func firstRevision(of user: UserID) throws -> Int? {
    try connection.first("SELECT min(revision) FROM journal WHERE user_id = ?", user) { try $0[0] as Int? }.flatMap {
      $0
    }
  }

  /// A user's entries behind a revision, oldest first.
  func entries(of user: UserID, after revision: Int, limit: Int) throws -> [Entry] {
    try connection.all(
      """
      SELECT revision, position, collection, at, session_id, action, mutations FROM journal
      WHERE user_id = ? AND revision > ? ORDER BY revision, position LIMIT ?
      """,
      user,
      revision,
      limit
    ) { row in
      Entry(
        revision: try row[0],
        position: try row[1],
        collection: CollectionName(text: try row[2] as String),
        at: try row[3],
        session: try row[4],
        action: try row[5],
        mutations: try row[6]
      )
    }
  }

  /// The facts of a collection from behind one revision up to another, by their revisions.
  func mutations(
    of user: UserID,
    in collection: CollectionName,
    kind: CollectionMutation.Kind,
    after: Int,
    upTo: Int
  ) throws -> [(revision: Int, mutations: [CollectionMutation])] {
    try connection.all(
      """
      SELECT revision, mutations FROM journal
      WHERE user_id = ? AND revision > ? AND revision <= ? AND collection = ? ORDER BY revision, position
      """,
      user,
      after,
      upTo,
      collection.description
    ) { row in
      let text: String = try row[1]
      let facts = JSON(trusting: Array(text.utf8)).arrayValue ?? []
      return (try row[0] as Int, facts.compactMap { CollectionMutation($0, of: kind) })
    }
  }
}
