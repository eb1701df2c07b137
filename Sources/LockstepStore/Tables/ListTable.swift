import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// Where a module keeps its list: a table of its own, which a person can read with the `sqlite3` shell and other programs can
/// query. Five statements and what to bind; what they are called for, and in which order, the product sees to.
///
/// All of it is called within the transaction that the journal is written in, on the writer's thread; `rows` on a reading
/// thread too. A table's `user_id` refers to `users (id) ON DELETE CASCADE`, so that all goes with its user: a store isn't
/// opened otherwise. What throws undoes the transaction.
public protocol ListTable<Element>: Sendable {
  /// What a row is made of.
  associatedtype Element: ListElement

  /// The steps of its schema, numbered 1, 2, 3 …. Each runs once in a store's life, and is never changed once a store has been
  /// through it.
  var migrations: [Migration] { get }

  /// All rows of a user, by their rank.
  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [ListRow<Element>]

  /// The rank of a user's element; nil where there is none of that id.
  func rank(of id: String, of user: UserID, in connection: SQLiteConnection) throws -> Int?

  /// Writes a row, in the place of the one of its id where there is one.
  func put(_ row: ListRow<Element>, of user: UserID, in connection: SQLiteConnection) throws

  /// Gives the row of an id another rank and revision. Default: reads all rows and writes that one; a table may say it in one
  /// statement.
  func move(_ id: String, to rank: Int, revision: Revision, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes the row of an id.
  func remove(_ id: String, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes all rows of a user.
  func removeAll(of user: UserID, in connection: SQLiteConnection) throws
}

extension ListTable {
  /// Reads all rows, and writes the one of the id.
  public func move(
    _ id: String,
    to rank: Int,
    revision: Revision,
    of user: UserID,
    in connection: SQLiteConnection
  ) throws {
    let row = try rows(of: user, in: connection).first { ElementKey($0.element.id) == ElementKey(id) }
    guard let row else { return }
    try put(ListRow(element: row.element, rank: rank, revision: revision), of: user, in: connection)
  }
}

/// An element in its table.
public struct ListRow<Element: ListElement>: Sendable {
  /// The element.
  public let element: Element
  /// It grows along the list, with gaps; the number itself means nothing. It isn't unique while a list is numbered anew.
  public let rank: Int
  /// The user's revision in which the row became what it is. It's stored as an integer.
  public let revision: Revision

  /// A row as it's stored.
  public init(element: Element, rank: Int, revision: Revision) {
    self.element = element
    self.rank = rank
    self.revision = revision
  }
}
