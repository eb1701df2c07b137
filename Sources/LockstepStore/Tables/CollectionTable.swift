import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// A module's tables. A person can read the module's collections there with the `sqlite3` shell.
/// The server reads them when a state is not in memory.
///
/// The tables store the changes of a reactor and decide nothing. All writes run in the transaction
/// that also writes the journal.
package protocol CollectionTable: ModuleStorage {
  /// The module of these tables.
  var module: String { get }
  /// Whether the collections are lists or maps.
  var kind: CollectionMutation.Kind { get }

  /// The migrations of the module's own tables.
  var migrations: [Migration] { get }

  /// All collections of a user that have ever been changed, each with the last revision that changed it.
  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState]

  /// Writes the changes of one collection, in a transaction.
  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws
}

extension CollectionTable {
  /// Writes the changes of one collection. If the rows do not show the revision of the change, this
  /// writes it too.
  package func apply(
    _ edits: CollectionEdits,
    at location: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    try write(edits, at: location, to: connection)
    if edits.needRemovalRecord { try RemovalRecords.note(at: location, in: connection) }
  }

  /// No migrations, because these tables are part of the product's schema.
  package var migrations: [Migration] { [] }
}

/// The collection and the revision of a change.
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

/// The table `removals`, which all modules share.
package enum RemovalRecords {
  /// Records that an element was removed.
  package static func note(at place: MutationLocation, in connection: SQLiteConnection) throws {
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

  /// The revisions of the last removals from a user's collections of a module.
  package static func all(
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
