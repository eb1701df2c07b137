import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// A module's tables: what a person can read of its collections with the `sqlite3` shell, and where they come from when
/// they aren't in memory.
///
/// It writes what a reactor has decided; it decides nothing itself. All of it runs within the transaction that the journal
/// is written in.
package protocol CollectionTable: ModuleStorage {
  /// The module whose collections these are.
  var module: String { get }
  /// Whether the collections are lists or maps.
  var kind: CollectionMutation.Kind { get }

  /// The steps of its own tables' schema.
  var migrations: [Migration] { get }

  /// All collections of a user that have ever been changed, each with the last revision that changed it.
  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState]

  /// Writes the changes of one collection, in a transaction.
  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws
}

extension CollectionTable {
  /// Writes the changes of one collection, and in which revision it changed if the rows do not show that.
  package func apply(
    _ edits: CollectionEdits,
    at location: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    try write(edits, at: location, to: connection)
    if edits.needRemovalRecord { try RemovalRecords.note(at: location, in: connection) }
  }

  /// None: its tables are in the product's schema.
  package var migrations: [Migration] { [] }
}

/// Where and when a change belongs.
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

/// The table `removals`, which every module's service writes.
package enum RemovalRecords {
  /// Notes that something was taken out.
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

  /// Forgets that something was ever in a collection that is empty.
  package static func forget(_ collection: CollectionName, of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run(
      "DELETE FROM removals WHERE user_id = ? AND collection = ?",
      user,
      collection.description
    )
  }

  /// When something was last taken out of a user's collections of a module.
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
