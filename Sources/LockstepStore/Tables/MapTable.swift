import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// Where a module keeps its map: a table of its own. What is said of `ListTable` holds for it too.
public protocol MapTable: Sendable {
  /// The steps of its schema, numbered 1, 2, 3 ….
  var migrations: [Migration] { get }

  /// All rows of a user, in any order.
  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [MapRow]

  /// Writes a row, in the place of the one of its key where there is one.
  func put(_ row: MapRow, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes the row of a key.
  func remove(_ key: String, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes all rows of a user.
  func removeAll(of user: UserID, in connection: SQLiteConnection) throws
}

/// A value in its table.
public struct MapRow: Sendable {
  /// Its key.
  public let key: String
  /// The value. What is read must be, to the byte of its JSON, what was written: the same ETag means the same bytes.
  public let value: JSON
  /// The user's revision in which the row became what it is. It's stored as an integer.
  public let revision: Revision

  /// A row as it's stored.
  public init(key: String, value: JSON, revision: Revision) {
    self.key = key
    self.value = value
    self.revision = revision
  }
}
