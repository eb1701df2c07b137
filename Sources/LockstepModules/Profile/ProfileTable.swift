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

  func write(
    _ mutation: CollectionMutation,
    before state: CollectionState,
    at place: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    guard case .map(let mutation) = mutation else { return }
    switch mutation {
    case .set(let field, let value):
      try connection.run(
        """
        INSERT INTO profiles (user_id, field, value, revision) VALUES (?, ?, ?, ?)
        ON CONFLICT (user_id, field) DO UPDATE SET value = excluded.value, revision = excluded.revision
        """,
        place.user,
        field,
        String(decoding: value, as: UTF8.self),
        place.revision
      )
    case .removed(let field):
      try connection.run("DELETE FROM profiles WHERE user_id = ? AND field = ?", place.user, field)
      try RemovalRecords.note(at: place, in: connection)
    case .cleared:
      try connection.run("DELETE FROM profiles WHERE user_id = ?", place.user)
      try RemovalRecords.note(at: place, in: connection)
    }
  }
}
