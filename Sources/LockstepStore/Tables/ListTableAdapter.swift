import LockstepCollections
import LockstepMigrations
import LockstepSQLite

/// A module's list in its table.
struct ListTableAdapter<Table: ListTable>: CollectionTable {
  let module: String
  let kind = CollectionMutation.Kind.list
  var migrations: [Migration] { table.migrations }
  let table: Table

  init(module: String, table: Table) {
    self.module = module
    self.table = table
  }

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let items = try table.rows(of: user, in: connection).map { row in
      ListItem(id: ElementKey(row.element.id), encoded: row.element.encoded, revision: row.revision)
    }
    return try list(items, of: user, from: connection)
  }

  func write(
    _ mutation: CollectionMutation,
    before state: CollectionState,
    at place: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    guard case .list(let mutation) = mutation, case .list(let list) = state else { return }
    switch mutation {
    case .inserted(let id, let item, let index):
      guard list[id] == nil else { return }
      try put(item, rank: try rank(at: index, in: list.items, place, connection), place, connection)
    case .modified(let id, let item):
      guard let rank = try table.rank(of: id, of: place.user, in: connection) else { return }
      try put(item, rank: rank, place, connection)
    case .removed(let id):
      try table.remove(id, of: place.user, in: connection)
      try RemovalRecords.note(at: place, in: connection)
    case .moved(let id, let index):
      guard let own = list.index(of: id) else { return }
      var others = list.items
      let item = others.remove(at: own)
      try put(item.encoded, rank: try rank(at: index, in: others, place, connection), place, connection)
    case .cleared:
      try table.removeAll(of: place.user, in: connection)
      try RemovalRecords.note(at: place, in: connection)
    }
  }

  private func put(_ item: [UInt8], rank: Int, _ place: MutationLocation, _ connection: SQLiteConnection) throws {
    let row = ListRow(element: try element(item), rank: rank, revision: place.revision)
    try table.put(row, of: place.user, in: connection)
  }

  private func rank(
    at index: Int,
    in items: [ListItem],
    _ place: MutationLocation,
    _ connection: SQLiteConnection
  ) throws -> Int {
    let ranks = ListRanks(
      rank: { try table.rank(of: $0.id.text, of: place.user, in: connection) },
      setRank: { item, rank in
        let row = ListRow(element: try element(item.encoded), rank: rank, revision: item.revision)
        try table.put(row, of: place.user, in: connection)
      }
    )
    return try ranks.rank(at: index, in: items)
  }

  private func element(_ encoded: [UInt8]) throws -> Table.Element {
    guard let element = Table.Element(encoded: encoded) else {
      throw ModuleError(module, "an element that \(Table.Element.self) can't read")
    }
    return element
  }
}
