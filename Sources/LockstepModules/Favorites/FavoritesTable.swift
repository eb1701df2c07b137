import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepStore

/// The table `favorites`.
struct FavoritesTable: CollectionTable {
  let module = FavoritesReactor.collection.module
  let kind = CollectionMutation.Kind.list

  func load(of user: UserID, from connection: SQLiteConnection) throws -> [CollectionName: CollectionState] {
    let items = try connection.all(
      "SELECT id, title, data, added_at, updated_at, revision FROM favorites WHERE user_id = ? ORDER BY rank",
      user
    ) { row in
      ListItem(
        id: ElementKey(try row[0]),
        encoded: Self.encoded(
          id: try row[0],
          title: try row[1],
          data: try row[2],
          addedAt: try row[3],
          updatedAt: try row[4]
        ),
        revision: try row[5]
      )
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
        """
        INSERT INTO favorites (user_id, id, title, data, added_at, updated_at, rank, revision)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        user,
        id.text,
        item.json["title"]?.stringValue,
        item.json["data"]?.description,
        item.json["addedAt"]?.stringValue,
        item.json["updatedAt"]?.stringValue,
        try ranks(of: user, in: connection).rank(of: id, in: gap),
        revision
      )
    case .modified(let id, let item):
      try connection.run(
        "UPDATE favorites SET title = ?, data = ?, updated_at = ?, revision = ? WHERE user_id = ? AND id = ?",
        item.json["title"]?.stringValue,
        item.json["data"]?.description,
        item.json["updatedAt"]?.stringValue,
        revision,
        user,
        id.text
      )
    case .moved(let id, let gap):
      try connection.run(
        "UPDATE favorites SET rank = ?, revision = ? WHERE user_id = ? AND id = ?",
        try ranks(of: user, in: connection).rank(of: id, in: gap),
        revision,
        user,
        id.text
      )
    case .removed(let id):
      try connection.run("DELETE FROM favorites WHERE user_id = ? AND id = ?", user, id.text)
    case .cleared:
      try connection.run("DELETE FROM favorites WHERE user_id = ?", user)
    }
  }

  private func ranks(of user: UserID, in connection: SQLiteConnection) -> ListRanks {
    ListRanks(
      rank: { id in
        try connection.first("SELECT rank FROM favorites WHERE user_id = ? AND id = ?", user, id.text) {
          try $0[0] as Int
        }
      },
      order: {
        try connection.all("SELECT id FROM favorites WHERE user_id = ? ORDER BY rank", user) { ElementKey(try $0[0]) }
      },
      setRanks: { ranks in
        for (id, rank) in ranks {
          try connection.run("UPDATE favorites SET rank = ? WHERE user_id = ? AND id = ?", rank, user, id.text)
        }
      }
    )
  }

  /// The element as clients see it. It equals the bytes that the reactor made.
  private static func encoded(
    id: String,
    title: String?,
    data: String?,
    addedAt: String,
    updatedAt: String
  ) -> [UInt8] {
    var bytes = Array(#"{"id":"#.utf8)
    bytes.append(json: id)
    if let title {
      bytes.append(contentsOf: #","title":"#.utf8)
      bytes.append(json: title)
    }
    if let data {
      bytes.append(contentsOf: #","data":"#.utf8)
      bytes.append(contentsOf: data.utf8)
    }
    bytes.append(contentsOf: #","addedAt":"#.utf8)
    bytes.append(json: addedAt)
    bytes.append(contentsOf: #","updatedAt":"#.utf8)
    bytes.append(json: updatedAt)
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }
}
