import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// A module's own table for its map. The rules are those of `ListTable`.
public protocol MapTable: Sendable {
  /// The migrations of the table's schema, numbered 1, 2, 3 and so on.
  var migrations: [Migration] { get }

  /// All rows of a user, in any order.
  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [MapRow]

  /// Inserts a row, or replaces the row with the same key.
  func put(_ row: MapRow, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes the row with this key.
  func remove(_ key: String, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes all rows of a user.
  func removeAll(of user: UserID, in connection: SQLiteConnection) throws
}

/// A row of a map's table.
public struct MapRow: Sendable {
  /// The key.
  public let key: String
  /// The value. A table must return the JSON byte for byte as it was written, because equal ETags
  /// mean equal bytes.
  public let value: JSON
  /// The revision of the user's state at the row's last change. Store it as an integer.
  public let revision: Revision

  /// Creates a row.
  public init(key: String, value: JSON, revision: Revision) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}

struct MapTableAdapter: CollectionTable {
  let module: String
  let kind = CollectionMutation.Kind.map
  let table: any MapTable

  var migrations: [Migration] { table.migrations }

  func load(into state: inout UserState, of user: UserID, from connection: SQLiteConnection) throws {
    let rows = try table.rows(of: user, in: connection)
    if rows.isEmpty { return }
    var map = PackedTreeBuilder(.map)
    for row in rows { map.append(row.key.utf8Span.span, row.value.encoded().span, revision: row.revision) }
    state.collections[CollectionName(module)] = map.state()
  }

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    guard case .map(let edits) = edits else { return }
    for edit in edits {
      switch edit {
      case .set(let key, let value):
        let row = MapRow(key: key.text, value: value.json, revision: location.revision)
        try table.put(row, of: location.user, in: connection)
      case .removed(let key):
        try table.remove(key.text, of: location.user, in: connection)
      case .cleared:
        try table.removeAll(of: location.user, in: connection)
      }
    }
  }
}
