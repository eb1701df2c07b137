import LockstepCollections
import LockstepJSON

extension ModuleTables {
  /// A user's present state; empty if the store has no data of the user.
  package func load(_ user: UserID, from connection: StoreConnection) throws -> UserState {
    var reader = StateReader(tables: self, user: user)
    try connection.forEach([Self.readLists, Self.readMaps, Self.readRevisions], of: user) { part, row in
      switch part {
      case 0: try reader.add(row, of: .list)
      case 1: try reader.add(row, of: .map)
      default: try reader.addRevision(row)
      }
    }
    return reader.finished()
  }

  /// The ranks of a user's lists that are damaged, by collection.
  package func damagedRanks(of user: UserID, in connection: StoreConnection) throws -> [ExactText: [Int]] {
    var ranks: [ExactText: [Int]] = [:]
    try connection.forEach(
      """
      SELECT collection, rank FROM list_elements
      WHERE user_id = ? AND rank NOT BETWEEN ? AND ? ORDER BY collection, rank
      """,
      user,
      ListRanks.bounds.lowerBound,
      ListRanks.bounds.upperBound
    ) { row in
      ranks[(try row[0] as String).exact, default: []].append(try row[1])
    }
    return ranks
  }

  private static let readLists: StoreSQL =
    "SELECT collection, id, element, revision FROM list_elements WHERE user_id = ? ORDER BY collection, rank"
  private static let readMaps: StoreSQL =
    "SELECT collection, key, value, revision FROM map_values WHERE user_id = ? ORDER BY collection, key"
  /// The head has no collection. One statement, because each one costs as much as reading several rows.
  private static let readRevisions: StoreSQL = """
    SELECT NULL, number << 20 | era, written FROM heads WHERE user_id = ?1
    UNION ALL SELECT collection, revision, NULL FROM removals WHERE user_id = ?1
    """
}

/// Makes a user's state from rows.
private struct StateReader {
  let tables: ModuleTables
  let user: UserID
  private var state = UserState()
  // The collection of the last row of an element or a value.
  private var kind = CollectionMutation.Kind.list
  private var name: [UInt8] = []
  private var entry: ModuleTables.Entry?
  /// Nil if the server does not have the collection.
  private var builder: PackedTreeBuilder?

  init(tables: ModuleTables, user: UserID) {
    (self.tables, self.user) = (tables, user)
  }

  /// Adds a row with the columns collection, name, JSON and revision. The rows of a collection come one
  /// after the other, in order.
  mutating func add(_ row: borrowing StoreRow, of kind: CollectionMutation.Kind) throws {
    if try kind != self.kind || name.isEmpty || !row.hasText(name, at: 0) {
      finishCollection()
      let collection: String = try row[0]
      (self.kind, name) = (kind, Array(collection.utf8))
      entry = tables[CollectionName(text: collection).module]
      builder = entry?.reducer.kind == kind ? PackedTreeBuilder(kind) : nil
    }
    guard builder != nil else { return }
    let revision = Revision(rawValue: try row.integer(at: 3))
    try row.withTexts(at: 1, 2) { id, element in
      guard entry?.canRead(element) != false else { throw damage(try row[1]) }
      builder?.append(id, element, revision: revision)
    }
  }

  /// Adds a row with the columns collection, revision and written: the end of the user's history, or the
  /// recorded revision of a collection. So a collection has the last revision that changed it, even if it
  /// is empty.
  mutating func addRevision(_ row: borrowing StoreRow) throws {
    finishCollection()
    let revision = Revision(rawValue: try row.integer(at: 1))
    guard let name = (try row[0] as String?).map({ CollectionName(text: $0) }) else {
      (state.revision, state.written) = (revision, Journal.possible(try row.integer(at: 2)))
      return
    }
    guard let kind = tables[name.module]?.reducer.kind else { return RemovalRecords.add(name, revision, to: &state) }
    var empty = PackedTreeBuilder(kind)
    state.collections[name] = (state.collections[name] ?? empty.state()).changed(at: revision)
  }

  mutating func finished() -> UserState {
    finishCollection()
    return state
  }

  private mutating func finishCollection() {
    guard var finished = builder.take() else { return }
    state.collections[CollectionName(text: String(decoding: name, as: UTF8.self))] = finished.state()
    name = []
  }

  private func damage(_ id: String) -> ElementDamagedError {
    ElementDamagedError(
      user: user,
      table: kind == .list ? "list_elements" : "map_values",
      collection: CollectionName(text: String(decoding: name, as: UTF8.self)),
      id: id
    )
  }
}
