import LockstepCollections
import LockstepSQLite

/// The user, the collection and the revision of a change.
package struct MutationLocation: Sendable {
  package let user: UserID
  package let collection: CollectionName
  package let revision: Revision

  package init(user: UserID, collection: CollectionName, revision: Revision) {
    self.user = user
    self.collection = collection
    self.revision = revision
  }
}

/// The table `removals`, which all modules share: the revision of each collection's last change
/// that removed a row or wrote none.
package enum RemovalRecords {
  /// Begins the name of a second record, of a collection that was deleted or got another kind: the
  /// end of its past. A later collection with its name begins there. No module has such a name.
  private static let retired = "~"

  package static func isRetired(_ module: String) -> Bool { module.hasPrefix(retired) }

  /// Adds a record of a module that the server does not have.
  static func add(_ name: CollectionName, _ revision: Revision, to state: inout UserState) {
    state.unserved = max(state.unserved, revision)
    guard isRetired(name.module) else { return }
    state.ends[CollectionName(text: name.description.dropFirst(retired.count))] = revision
  }

  static func note(at place: MutationLocation, in connection: SQLiteConnection) throws {
    try connection.run(
      """
      INSERT INTO removals (user_id, collection, revision) VALUES (?, ?, ?)
      ON CONFLICT (user_id, collection) DO UPDATE SET revision = excluded.revision
      """,
      place.user,
      place.collection.description,
      place.revision
    )
  }

  /// Deletes the records of an empty collection.
  package static func forget(_ collection: CollectionName, of user: UserID, in connection: StoreConnection) throws {
    try connection.run(
      "DELETE FROM removals WHERE user_id = ? AND collection IN (?, ?)",
      user,
      collection.description,
      retired + collection.description
    )
  }

  /// Ends the past of a collection of some users, because the collection is being deleted or gets
  /// another kind. A client with an earlier cursor gets a reset.
  package static func retire(
    _ collection: CollectionName,
    from first: UserID,
    to last: UserID,
    in connection: StoreConnection
  ) throws {
    try connection.run(
      """
      INSERT INTO removals (user_id, collection, revision)
      SELECT user_id, ?, revision FROM removals WHERE user_id >= ? AND user_id <= ? AND collection = ?
      ON CONFLICT (user_id, collection) DO UPDATE SET revision = excluded.revision
      """,
      retired + collection.description,
      first,
      last,
      collection.description
    )
  }

  /// Where the past of a user's collections ended, for those that were deleted or got another kind.
  package static func ends(of user: UserID, in connection: StoreConnection) throws -> [CollectionName: Revision] {
    let rows = try connection.all(
      "SELECT collection, revision FROM removals WHERE user_id = ? AND substr(collection, 1, 1) = ?",
      user,
      retired
    ) { row in
      (CollectionName(text: (try row[0] as String).dropFirst(retired.count)), try row[1] as Revision)
    }
    return Dictionary(rows) { max($0, $1) }
  }

  /// The recorded revisions of a user's collections.
  package static func revisions(of user: UserID, in connection: StoreConnection) throws -> [CollectionName: Revision] {
    let rows = try connection.all("SELECT collection, revision FROM removals WHERE user_id = ?", user) { row in
      (CollectionName(text: try row[0] as String), try row[1] as Revision)
    }
    return Dictionary(rows) { max($0, $1) }
  }
}
