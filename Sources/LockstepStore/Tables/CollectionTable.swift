import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// A module's tables. A person can read the module's collections there with the `sqlite3` shell.
/// The server reads the tables when a state is not in memory. It writes them in the same
/// transaction as the journal.
package protocol CollectionTable: ModuleStorage {
  var module: String { get }
  var kind: CollectionMutation.Kind { get }

  /// Empty by default, because Lockstep's own tables are in Lockstep's own migrations.
  var migrations: [Migration] { get }

  /// All collections of a user that have ever been changed, each with the last revision that
  /// changed it.
  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState]

  /// Writes the changes of one collection, within the connection's transaction.
  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws
}

extension CollectionTable {
  /// Writes the changes of one collection, and records their revision if no row contains it.
  package func apply(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    try write(edits, at: location, to: connection)
    if edits.needRemovalRecord { try RemovalRecords.note(at: location, in: connection) }
  }

  package var migrations: [Migration] { [] }

  /// The module's lists with these items, in their order. Lists that were never changed are
  /// missing.
  package func lists(
    _ items: [CollectionName: [ListItem]],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: CollectionState] {
    let revisions = try lastChanges(items.mapValues { $0.lazy.map(\.revision).max() }, of: user, from: connection)
    return revisions.reduce(into: [:]) { $0[$1.key] = .list(ListState(items[$1.key] ?? [], revision: $1.value)) }
  }

  /// The module's maps with these values. Maps that were never changed are missing.
  package func maps(
    _ values: [CollectionName: [(key: ElementKey, value: MapValue)]],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: CollectionState] {
    let last = values.mapValues { $0.lazy.map(\.value.revision).max() }
    let revisions = try lastChanges(last, of: user, from: connection)
    return revisions.reduce(into: [:]) { $0[$1.key] = .map(MapState(values[$1.key] ?? [], revision: $1.value)) }
  }

  /// The revision that last changed each collection: the revision of its newest row or of its
  /// record in `removals`, whichever is later.
  private func lastChanges(
    _ written: [CollectionName: Revision?],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: Revision] {
    let removed = try RemovalRecords.all(of: user, in: module, from: connection)
    return written.compactMapValues { $0 }.merging(removed) { max($0, $1) }
  }
}

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

  /// Deletes the record of an empty collection.
  package static func forget(_ collection: CollectionName, of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM removals WHERE user_id = ? AND collection = ?",
      user,
      collection.description
    )
  }

  /// The recorded revisions of a user's collections of one module.
  fileprivate static func all(
    of user: UserID,
    in module: String,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: Revision] {
    let rows = try connection.all("SELECT collection, revision FROM removals WHERE user_id = ?", user) { row in
      (CollectionName(text: try row[0] as String), try row[1] as Revision)
    }
    return Dictionary(rows.filter { $0.0.module == module }) { _, last in last }
  }
}
