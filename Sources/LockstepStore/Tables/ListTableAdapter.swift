import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// Adapts a module's own list table.
package struct ListTableAdapter<Table: ListTable>: CollectionTable {
  package let module: String
  package let kind = CollectionMutation.Kind.list
  let table: Table

  package var migrations: [Migration] { table.migrations }

  package func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let items = try table.rows(of: user, in: connection).map { row in
      ListItem(id: ElementKey(row.element.id), encoded: row.element.json.encoded(), revision: row.revision)
    }
    return try lists(items.isEmpty ? [:] : [CollectionName(module): items], of: user, from: connection)
  }

  package func write(
    _ edits: CollectionEdits,
    at location: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    guard case .list(let edits) = edits else { return }
    for edit in edits { try write(edit, at: location, to: connection) }
  }

  private func write(_ edit: ListEdit, at location: MutationLocation, to connection: SQLiteConnection) throws {
    let (user, revision) = (location.user, location.revision)
    switch edit {
    case .inserted(let id, let item, let gap):
      let rank = try ranks(of: user, connection).rank(of: id, in: gap)
      try table.put(ListRow(element: try element(item), rank: rank, revision: revision), of: user, in: connection)
    case .modified(let id, let item):
      guard let rank = try table.rank(of: id.text, of: user, in: connection) else { return }
      try table.put(ListRow(element: try element(item), rank: rank, revision: revision), of: user, in: connection)
    case .moved(let id, let gap):
      let rank = try ranks(of: user, connection).rank(of: id, in: gap)
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
      order: { try table.rows(of: user, in: connection).map { ElementKey($0.element.id) } },
      setRanks: { ranks in
        for row in try table.rows(of: user, in: connection) {
          let rank = ranks[ElementKey(row.element.id)] ?? row.rank
          try table.put(ListRow(element: row.element, rank: rank, revision: row.revision), of: user, in: connection)
        }
      }
    )
  }

  private func element(_ item: EncodedJSON) throws -> Table.Element {
    guard let element = item.json.objectValue.flatMap({ Table.Element($0) }) else {
      throw ModuleError(module, "an element that \(Table.Element.self) can't read")
    }
    return element
  }
}
