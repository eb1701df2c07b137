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
  /// The value. Its JSON must read back with exactly the same bytes, because equal ETags mean equal
  /// bytes.
  public let value: JSON
  /// The user's revision of the row's last change. Store it as an integer.
  public let revision: Revision

  /// Creates a row.
  public init(key: String, value: JSON, revision: Revision) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}
