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

  func write(
    _ mutation: CollectionMutation,
    before state: CollectionState,
    at place: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    guard case .list(let mutation) = mutation, case .list(let list) = state else { return }
    switch mutation {
    case .inserted(let id, let item, let index):
      let rank = try ranks(of: place.user, in: connection).rank(at: index, in: list.items)
      try insert(id, item, rank: rank, at: place, to: connection)
    case .modified(let id, let item): try modify(id, item, at: place, in: connection)
    case .removed(let id):
      try connection.run("DELETE FROM favorites WHERE user_id = ? AND id = ?", place.user, id)
      try RemovalRecords.note(at: place, in: connection)
    case .moved(let id, let index):
      var others = list.items
      if let own = list.index(of: id) { others.remove(at: own) }
      let rank = try ranks(of: place.user, in: connection).rank(at: index, in: others)
      try connection.run(
        "UPDATE favorites SET rank = ?, revision = ? WHERE user_id = ? AND id = ?",
        rank,
        place.revision,
        place.user,
        id
      )
    case .cleared:
      try connection.run("DELETE FROM favorites WHERE user_id = ?", place.user)
      try RemovalRecords.note(at: place, in: connection)
    }
  }

  private func ranks(of user: UserID, in connection: SQLiteConnection) -> ListRanks {
    ListRanks(
      rank: { item in
        try connection.first("SELECT rank FROM favorites WHERE user_id = ? AND id = ?", user, item.id.text) {
          try $0[0] as Int
        }
      },
      setRank: { item, rank in
        try connection.run("UPDATE favorites SET rank = ? WHERE user_id = ? AND id = ?", rank, user, item.id.text)
      }
    )
  }

  private func insert(
    _ id: String,
    _ item: [UInt8],
    rank: Int,
    at place: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    let object = JSON(trusting: item)
    try connection.run(
      """
      INSERT INTO favorites (user_id, id, title, data, added_at, updated_at, rank, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      place.user,
      id,
      object["title"]?.stringValue,
      object["data"].map { String(decoding: $0.encoded(), as: UTF8.self) },
      object["addedAt"]?.stringValue,
      object["updatedAt"]?.stringValue,
      rank,
      place.revision
    )
  }

  private func modify(
    _ id: String,
    _ item: [UInt8],
    at place: MutationLocation,
    in connection: SQLiteConnection
  ) throws {
    let object = JSON(trusting: item)
    try connection.run(
      "UPDATE favorites SET title = ?, data = ?, updated_at = ?, revision = ? WHERE user_id = ? AND id = ?",
      object["title"]?.stringValue,
      object["data"].map { String(decoding: $0.encoded(), as: UTF8.self) },
      object["updatedAt"]?.stringValue,
      place.revision,
      place.user,
      id
    )
  }

  /// The element as clients see it: what the reactor wrote, byte for byte.
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
