import SQLite

/// The table `snapshots`: collections as they were.
struct Snapshots {
  let connection: Connection

  /// The newest of a collection up to a revision; nil where there is none: it was empty at the beginning.
  func latest(of collection: CollectionName, of user: UserID, upTo revision: Int) throws -> (
    revision: Int, state: CollectionState
  )? {
    let found = try connection.first(
      """
      SELECT revision, state FROM snapshots
      WHERE user_id = ? AND collection = ? AND revision <= ? ORDER BY revision DESC LIMIT 1
      """,
      user,
      collection.description,
      revision
    ) { row in
      (try row[0] as Int, CollectionState(snapshot: Array((try row[1] as String).utf8)))
    }
    guard let (revision, state) = found, let state else { return nil }
    return (revision, state)
  }

  /// Keeps a collection as it was after a revision.
  func keep(_ state: CollectionState, as collection: CollectionName, of user: UserID, at revision: Int) throws {
    try connection.run(
      "INSERT OR REPLACE INTO snapshots (user_id, collection, revision, state) VALUES (?, ?, ?, ?)",
      user,
      collection.description,
      revision,
      String(decoding: state.snapshot, as: UTF8.self)
    )
  }

  /// Forgets those before a revision.
  func forget(_ collection: CollectionName, of user: UserID, before revision: Int) throws {
    try connection.run(
      "DELETE FROM snapshots WHERE user_id = ? AND collection = ? AND revision < ?",
      user,
      collection.description,
      revision
    )
  }
}
