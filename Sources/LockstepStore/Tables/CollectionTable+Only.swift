import LockstepCollections
import LockstepSQLite

extension CollectionTable {
  /// The module's only collection.
  private var collection: CollectionName { CollectionName(module) }

  /// What a list holds whose items these are, in their order; nothing where it was never changed.
  package func list(_ items: [ListItem], of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName:
    CollectionState]
  {
    guard let revision = try lastChange(items.map(\.revision), of: user, from: connection) else { return [:] }
    return [collection: .list(ListState(items, revision: revision))]
  }

  /// What a map holds whose values these are; nothing where it was never changed.
  package func map(
    _ values: [(ElementKey, MapValue)],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: CollectionState] {
    guard let revision = try lastChange(values.map(\.1.revision), of: user, from: connection) else { return [:] }
    return [collection: .map(MapState(Dictionary(values) { _, last in last }, revision: revision))]
  }

  /// The revision that changed the collection last: put something into it that is there still, or took something out. Nil
  /// where none did.
  private func lastChange(_ revisions: [Revision], of user: UserID, from connection: SQLiteConnection) throws
    -> Revision?
  {
    [revisions.max(), try RemovalRecords.all(of: user, in: module, from: connection)[collection]].compactMap { $0 }
      .max()
  }
}
