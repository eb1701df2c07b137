import LockstepCollections
import LockstepSQLite
import LockstepStore

/// The table `profiles`.
struct ProfileTable: CollectionTable {
  let module = ProfileReactor.collection.module
  let kind = CollectionMutation.Kind.map

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let fields = try connection.all("SELECT field, value, revision FROM profiles WHERE user_id = ?", user) { row in
      (ElementKey(try row[0]), MapValue(encoded: Array((try row[1] as String).utf8), revision: try row[2]))
    }
    return try map(fields, of: user, from: connection)
  }

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    guard case .map(let edits) = edits else { return }
    let user = location.user
    for edit in edits {
      switch edit {
      case .set(let field, let value):
        try connection.run(
          """
          INSERT INTO profiles (user_id, field, value, revision) VALUES (?, ?, ?, ?)
          ON CONFLICT (user_id, field) DO UPDATE SET value = excluded.value, revision = excluded.revision
          """,
          user,
          field.text,
          String(decoding: value.encoded, as: UTF8.self),
          location.revision
        )
      case .removed(let field):
        try connection.run("DELETE FROM profiles WHERE user_id = ? AND field = ?", user, field.text)
      case .cleared:
        try connection.run("DELETE FROM profiles WHERE user_id = ?", user)
      }
    }
  }
}
