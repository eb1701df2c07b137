import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// The table `list_elements`, for lists that bring none of their own.
struct SharedListTable<Element: ListElement>: ListTable {
  let module: String

  var migrations: [Migration] { [] }

  func rows(of user: UserID, in connection: Connection) throws -> [ListRow<Element>] {
    try connection.all(
      "SELECT element, rank, revision FROM list_elements WHERE user_id = ? AND module = ? ORDER BY rank",
      user,
      module
    ) { row in
      guard let element = Element(encoded: Array((try row[0] as String).utf8)) else {
        throw ModuleFault(module, "\(Element.self) can't read an element that is in the store")
      }
      return ListRow(element: element, rank: try row[1], revision: try row[2])
    }
  }

  func rank(of id: String, of user: UserID, in connection: Connection) throws -> Int? {
    try connection.first(
      "SELECT rank FROM list_elements WHERE user_id = ? AND module = ? AND id = ?",
      user,
      module,
      id
    ) { try $0[0] }
  }

  func put(_ row: ListRow<Element>, of user: UserID, in connection: Connection) throws {
    try connection.run(
      """
      INSERT INTO list_elements (user_id, module, id, element, rank, revision) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (user_id, module, id) DO UPDATE SET
        element = excluded.element, rank = excluded.rank, revision = excluded.revision
      """,
      user,
      module,
      row.element.id,
      String(decoding: row.element.encoded, as: UTF8.self),
      row.rank,
      row.revision
    )
  }

  func remove(_ id: String, of user: UserID, in connection: Connection) throws {
    try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ? AND id = ?", user, module, id)
  }

  func removeAll(of user: UserID, in connection: Connection) throws {
    try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ?", user, module)
  }
}
