import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// A module's map in its table.
struct MapTableAdapter: CollectionTable {
  let module: String
  let kind = CollectionMutation.Kind.map
  var migrations: [Migration] { table.migrations }
  let table: any MapTable

  init(module: String, table: any MapTable) {
    self.module = module
    self.table = table
  }

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let values = try table.rows(of: user, in: connection).map { row in
      (ElementKey(row.key), MapValue(encoded: row.value.encoded(), revision: row.revision))
    }
    let map = Dictionary(values) { _, last in last }
    return try maps([CollectionName(module): map], of: user, from: connection)
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
