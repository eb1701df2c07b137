import LockstepCollections
import LockstepSQLite

extension CollectionTable {
  /// The module's lists with these items, in their order. Lists that were never changed are missing.
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
    _ values: [CollectionName: [ElementKey: MapValue]],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: CollectionState] {
    let last = values.mapValues { $0.values.lazy.map(\.revision).max() }
    let revisions = try lastChanges(last, of: user, from: connection)
    return revisions.reduce(into: [:]) { $0[$1.key] = .map(MapState(values[$1.key] ?? [:], revision: $1.value)) }
  }

  /// The revision that last changed each collection: that wrote one of its rows, or removed one.
  private func lastChanges(
    _ written: [CollectionName: Revision?],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> [CollectionName: Revision] {
    let removed = try RemovalRecords.all(of: user, in: module, from: connection)
    return written.compactMapValues { $0 }.merging(removed) { max($0, $1) }
  }
}
