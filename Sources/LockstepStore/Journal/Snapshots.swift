import LockstepCollections
import LockstepSQLite

/// The table `snapshots`: collections at past revisions, within the connection's transaction.
package struct Snapshots {
  package struct Name: Sendable {
    package let collection: CollectionName
    package let revision: Revision
  }

  let connection: SQLiteConnection

  package init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// The newest snapshot of a collection up to a revision. Without one, the collection's history begins with an empty state.
  /// Throws `SnapshotDamagedError` if it cannot be read: a state that is rebuilt without it would be wrong.
  package func latest(
    of collection: CollectionName,
    of user: UserID,
    upTo revision: Revision
  ) throws -> (revision: Revision, state: CollectionState)? {
    let found = try connection.first(
      """
      SELECT revision, state FROM snapshots
      WHERE user_id = ? AND collection = ? AND revision <= ? ORDER BY revision DESC LIMIT 1
      """,
      user,
      collection.description,
      revision
    ) { row in
      (try row[0] as Revision, CollectionState(snapshot: Array((try row[1] as String).utf8)))
    }
    guard let (revision, state) = found else { return nil }
    guard let state else { throw SnapshotDamagedError(user: user, collection: collection, revision: revision) }
    return (revision, state)
  }

  /// The snapshots of a user by collection, oldest first.
  package func names(of user: UserID) throws -> [Name] {
    try connection.all(
      "SELECT collection, revision FROM snapshots WHERE user_id = ? ORDER BY collection, revision",
      user
    ) { Name(collection: CollectionName(text: try $0[0] as String), revision: try $0[1]) }
  }

  package func keep(
    _ state: CollectionState,
    as collection: CollectionName,
    of user: UserID,
    at revision: Revision
  ) throws {
    try connection.run(
      "INSERT OR REPLACE INTO snapshots (user_id, collection, revision, state) VALUES (?, ?, ?, ?)",
      user,
      collection.description,
      revision,
      String(decoding: state.snapshot, as: UTF8.self)
    )
  }

  /// Deletes the snapshots of a collection before a revision.
  package func delete(
    _ collection: CollectionName,
    of user: UserID,
    before revision: Revision = Revision(rawValue: .max)
  ) throws {
    try connection.run(
      "DELETE FROM snapshots WHERE user_id = ? AND collection = ? AND revision < ?",
      user,
      collection.description,
      revision
    )
  }
}

/// A snapshot cannot be read: the file was changed by hand, or the disk is damaged.
package struct SnapshotDamagedError: Error, CustomStringConvertible {
  let user: UserID
  package let collection: CollectionName
  package let revision: Revision

  package var description: String {
    "the snapshot of \(collection) of user \(user) at revision \(revision) cannot be read: the store is damaged; restore a "
      + "backup, or delete that row of the table snapshots and lose the history before it"
  }
}
