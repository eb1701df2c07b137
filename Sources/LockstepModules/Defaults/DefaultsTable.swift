import LockstepCollections
import LockstepSQLite
import LockstepStore

/// The table `defaults`.
struct DefaultsTable: CollectionTable {
  let module = "defaults"
  let kind = CollectionMutation.Kind.map

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    var suites: [String: [ElementKey: MapValue]] = [:]
    try connection.forEach("SELECT suite, key, value, revision FROM defaults WHERE user_id = ?", user) { row in
      let value = MapValue(encoded: Array((try row[2] as String).utf8), revision: try row[3])
      suites[try row[0], default: [:]][ElementKey(try row[1])] = value
    }
    var revisions = try RemovalRecords.all(of: user, in: module, from: connection)
    for (suite, values) in suites {
      let name = CollectionName(module, part: suite)
      revisions[name] = values.values.reduce(revisions[name] ?? .none) { max($0, $1.revision) }
    }
    return Dictionary(
      uniqueKeysWithValues: revisions.map { name, revision in
        (name, .map(MapState(suites[name.part ?? ""] ?? [:], revision: revision)))
      }
    )
  }

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    guard case .map(let edits) = edits, let suite = location.collection.part else { return }
    let user = location.user
    for edit in edits {
      switch edit {
      case .set(let key, let value):
        try connection.run(
          """
          INSERT INTO defaults (user_id, suite, key, value, revision) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (user_id, suite, key) DO UPDATE SET value = excluded.value, revision = excluded.revision
          """,
          user,
          suite,
          key.text,
          String(decoding: value.encoded, as: UTF8.self),
          location.revision
        )
      case .removed(let key):
        try connection.run("DELETE FROM defaults WHERE user_id = ? AND suite = ? AND key = ?", user, suite, key.text)
      case .cleared:
        try connection.run("DELETE FROM defaults WHERE user_id = ? AND suite = ?", user, suite)
      }
    }
  }
}
