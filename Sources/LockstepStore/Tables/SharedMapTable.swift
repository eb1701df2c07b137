import LockstepCollections
import LockstepJSON
import LockstepMigrations
import LockstepSQLite

/// The table `map_values`, for maps that bring none of their own.
struct SharedMapTable: MapTable {
  let module: String

  var migrations: [Migration] { [] }

  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [MapRow] {
    try connection.all(
      "SELECT key, value, revision FROM map_values WHERE user_id = ? AND module = ?",
      user,
      module
    ) { row in
      MapRow(key: try row[0], value: JSON(trusting: Array((try row[1] as String).utf8)), revision: try row[2])
    }
  }

  func put(_ row: MapRow, of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run(
      """
      INSERT INTO map_values (user_id, module, key, value, revision) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (user_id, module, key) DO UPDATE SET value = excluded.value, revision = excluded.revision
      """,
      user,
      module,
      row.key,
      row.value.description,
      row.revision
    )
  }

  func remove(_ key: String, of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM map_values WHERE user_id = ? AND module = ? AND key = ?", user, module, key)
  }

  func removeAll(of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM map_values WHERE user_id = ? AND module = ?", user, module)
  }
}
