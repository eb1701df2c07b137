import LockstepCollections
import LockstepSQLite

/// The table `list_elements`, for lists that bring none of their own: elements as the JSON that clients see.
struct SharedListTable: CollectionTable {
  let module: String
  let kind = CollectionMutation.Kind.list
  /// Whether the module's own type can read an element.
  let canRead: @Sendable ([UInt8]) -> Bool

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let items = try connection.all(
      "SELECT id, element, revision FROM list_elements WHERE user_id = ? AND module = ? ORDER BY rank",
      user,
      module
    ) { row in
      let element = Array((try row[1] as String).utf8)
      guard canRead(element) else { throw ModuleError(module, "an element in the store can't be read") }
      return ListItem(id: ElementKey(try row[0]), encoded: element, revision: try row[2])
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
    let user = place.user
    let ranks = ListRanks(
      rank: { item in
        try connection.first(
          "SELECT rank FROM list_elements WHERE user_id = ? AND module = ? AND id = ?",
          user,
          module,
          item.id.text
        ) { try $0[0] as Int }
      },
      setRank: { item, rank in
        try connection.run(
          "UPDATE list_elements SET rank = ? WHERE user_id = ? AND module = ? AND id = ?",
          rank,
          user,
          module,
          item.id.text
        )
      }
    )
    switch mutation {
    case .inserted(let id, let item, let index):
      guard list[id] == nil else { return }
      try connection.run(
        "INSERT INTO list_elements (user_id, module, id, element, rank, revision) VALUES (?, ?, ?, ?, ?, ?)",
        user,
        module,
        id,
        String(decoding: item, as: UTF8.self),
        try ranks.rank(at: index, in: list.items),
        place.revision
      )
    case .modified(let id, let item):
      try connection.run(
        "UPDATE list_elements SET element = ?, revision = ? WHERE user_id = ? AND module = ? AND id = ?",
        String(decoding: item, as: UTF8.self),
        place.revision,
        user,
        module,
        id
      )
    case .removed(let id):
      try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ? AND id = ?", user, module, id)
      try RemovalRecords.note(at: place, in: connection)
    case .moved(let id, let index):
      guard let own = list.index(of: id) else { return }
      var others = list.items
      others.remove(at: own)
      try connection.run(
        "UPDATE list_elements SET rank = ?, revision = ? WHERE user_id = ? AND module = ? AND id = ?",
        try ranks.rank(at: index, in: others),
        place.revision,
        user,
        module,
        id
      )
    case .cleared:
      try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ?", user, module)
      try RemovalRecords.note(at: place, in: connection)
    }
  }
}
