import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// A module's own table for its list. A person can read the table with the `sqlite3` shell, and
/// other programs can query it.
///
/// Lockstep calls these methods on the writer thread, in the transaction that also writes the
/// journal. It calls `rows` on reader threads too. The column `user_id` must have a foreign key to
/// `users` with `ON DELETE CASCADE`, so that rows are deleted with their user. Otherwise the server
/// refuses to start. If a method throws, the write is rolled back.
public protocol ListTable<Element>: Sendable {
  /// The type of the elements.
  associatedtype Element: Identifiable & Sendable where Element.ID == String

  /// The migrations of the table's schema, numbered 1, 2, 3 and so on. Each runs once in a store.
  /// Never change one after a store has applied it.
  var migrations: [Migration] { get }

  /// All rows of a user, ordered by rank.
  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [ListRow<Element>]

  /// The rank of a user's element, or `nil` if there is none with this id.
  func rank(of id: String, of user: UserID, in connection: SQLiteConnection) throws -> Int?

  /// Inserts a row, or replaces the row with the same id.
  func put(_ row: ListRow<Element>, of user: UserID, in connection: SQLiteConnection) throws

  /// Gives a row another rank and revision. The default implementation reads all rows and writes
  /// this one. A table can do it in one statement.
  func move(_ id: String, to rank: Int, revision: Revision, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes the row with this id.
  func remove(_ id: String, of user: UserID, in connection: SQLiteConnection) throws

  /// Deletes all rows of a user.
  func removeAll(of user: UserID, in connection: SQLiteConnection) throws
}

extension ListTable {
  /// Reads all rows, and writes the one with this id.
  public func move(
    _ id: String,
    to rank: Int,
    revision: Revision,
    of user: UserID,
    in connection: SQLiteConnection
  ) throws {
    let row = try rows(of: user, in: connection).first { $0.element.id.hasSameBytes(as: id) }
    guard let row else { return }
    try put(ListRow(element: row.element, rank: rank, revision: revision), of: user, in: connection)
  }
}

/// A row of a list's table.
public struct ListRow<Element: Identifiable & Sendable>: Sendable where Element.ID == String {
  /// The element.
  public let element: Element
  /// The rank. Ranks increase along the list, with gaps, and have no other meaning. While rows
  /// are spread out, two of them may have the same rank.
  public let rank: Int
  /// The revision of the user's state at the row's last change. Store it as an integer.
  public let revision: Revision

  /// Creates a row.
  public init(element: Element, rank: Int, revision: Revision) {
    self.element = element
    self.rank = rank
    self.revision = revision
  }
}

struct ListTableAdapter<Table: ListTable>: CollectionTable {
  let module: String
  let kind = CollectionMutation.Kind.list
  let table: Table
  /// Encodes an element as clients get it.
  let encode: @Sendable (Table.Element) throws -> [UInt8]
  /// Reads an element. Returns nil for any other object.
  let decode: @Sendable (JSONObject) -> Table.Element?

  var migrations: [Migration] { table.migrations }

  func load(into state: inout UserState, of user: UserID, from connection: SQLiteConnection) throws {
    let rows = try table.rows(of: user, in: connection)
    if rows.isEmpty { return }
    var list = PackedTreeBuilder(.list)
    for row in rows {
      let (id, item) = (row.element.id, try encode(row.element))
      list.append(id.utf8Span.span, item.span, revision: row.revision)
    }
    state.collections[CollectionName(module)] = list.state()
  }

  func damagedRanks(of user: UserID, in connection: SQLiteConnection) throws -> [Int] {
    try table.rows(of: user, in: connection).map(\.rank).filter { !ListRanks.bounds.contains($0) }
  }

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    guard case .list(let edits) = edits else { return }
    for edit in edits { try write(edit, at: location, to: connection) }
  }

  private func write(_ edit: ListEdit, at location: MutationLocation, to connection: SQLiteConnection) throws {
    let (user, revision) = (location.user, location.revision)
    switch edit {
    case .inserted(_, let item, let gap):
      let rank = try ranks(of: user, connection).rank(in: gap)
      try table.put(ListRow(element: try element(item), rank: rank, revision: revision), of: user, in: connection)
    case .modified(let id, let item):
      guard let rank = try table.rank(of: id.text, of: user, in: connection) else { return }
      try table.put(ListRow(element: try element(item), rank: rank, revision: revision), of: user, in: connection)
    case .moved(let id, let gap):
      let rank = try ranks(of: user, connection).rank(in: gap)
      try table.move(id.text, to: rank, revision: revision, of: user, in: connection)
    case .removed(let id):
      try table.remove(id.text, of: user, in: connection)
    case .cleared:
      try table.removeAll(of: user, in: connection)
    }
  }

  private func ranks(of user: UserID, _ connection: SQLiteConnection) -> ListRanks {
    ListRanks(
      rank: { try table.rank(of: $0.text, of: user, in: connection) },
      setRank: { item, rank in
        try table.move(item.id.text, to: rank, revision: item.revision, of: user, in: connection)
      }
    )
  }

  private func element(_ item: EncodedJSON) throws -> Table.Element {
    guard let element = item.json.objectValue.flatMap(decode) else {
      throw ModuleError(module, "an element that \(Table.Element.self) cannot read")
    }
    return element
  }
}
