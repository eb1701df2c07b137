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

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    guard case .list(let edits) = edits else { return }
    for edit in edits { try write(edit, at: location, to: connection) }
  }

  private func write(_ edit: ListEdit, at location: MutationLocation, to connection: SQLiteConnection) throws {
    let (user, revision) = (location.user, location.revision)
    switch edit {
    case .inserted(let id, let item, let gap):
      try connection.run(
        "INSERT INTO list_elements (user_id, module, id, element, rank, revision) VALUES (?, ?, ?, ?, ?, ?)",
        user,
        module,
        id.text,
        String(decoding: item.encoded, as: UTF8.self),
        try ranks(of: user, connection).rank(of: id, in: gap),
        revision
      )
    case .modified(let id, let item):
      try connection.run(
        "UPDATE list_elements SET element = ?, revision = ? WHERE user_id = ? AND module = ? AND id = ?",
        String(decoding: item.encoded, as: UTF8.self),
        revision,
        user,
        module,
        id.text
      )
    case .moved(let id, let gap):
      try connection.run(
        "UPDATE list_elements SET rank = ?, revision = ? WHERE user_id = ? AND module = ? AND id = ?",
        try ranks(of: user, connection).rank(of: id, in: gap),
        revision,
        user,
        module,
        id.text
      )
    case .removed(let id):
      try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ? AND id = ?", user, module, id.text)
    case .cleared:
      try connection.run("DELETE FROM list_elements WHERE user_id = ? AND module = ?", user, module)
    }
  }

  private func ranks(of user: UserID, _ connection: SQLiteConnection) -> ListRanks {
    ListRanks(
      rank: { id in
        try connection.first(
          "SELECT rank FROM list_elements WHERE user_id = ? AND module = ? AND id = ?",
          user,
          module,
          id.text
        ) { try $0[0] as Int }
      },
      order: {
        try connection.all("SELECT id FROM list_elements WHERE user_id = ? AND module = ? ORDER BY rank", user, module)
        {
          ElementKey(try $0[0])
        }
      },
      setRanks: { ranks in
        for (id, rank) in ranks {
          try connection.run(
            "UPDATE list_elements SET rank = ? WHERE user_id = ? AND module = ? AND id = ?",
            rank,
            user,
            module,
            id.text
          )
        }
      }
    )
  }
}
