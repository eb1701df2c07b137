import SQLite

/// The table `profiles`.
struct ProfileService: CollectionService {
  let module = ProfileReactor.collection.module
  let kind = CollectionMutation.Kind.map

  func load(of user: UserID, from connection: Connection) throws -> [CollectionName: CollectionState] {
    let fields = try connection.all("SELECT field, value, revision FROM profiles WHERE user_id = ?", user) { row in
      (ElementKey(try row[0]), MapValue(encoded: Array((try row[1] as String).utf8), revision: try row[2]))
    }
    let removal = try Removals.all(of: user, in: module, from: connection)[ProfileReactor.collection]
    guard !fields.isEmpty || removal != nil else { return [:] }
    let revision = fields.reduce(removal ?? .none) { max($0, $1.1.revision) }
    let values = Dictionary(fields) { _, last in last }
    return [ProfileReactor.collection: .map(MapState(values, revision: revision))]
  }

  func write(
    _ mutation: CollectionMutation,
    before state: CollectionState,
    at place: CollectionPlace,
    to connection: Connection
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
      try Removals.note(at: place, in: connection)
    case .cleared:
      try connection.run("DELETE FROM profiles WHERE user_id = ?", place.user)
      try Removals.note(at: place, in: connection)
    }
  }
}
