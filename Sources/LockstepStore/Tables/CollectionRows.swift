import LockstepCollections
import LockstepSQLite

/// The tables `list_elements` and `map_values` of a store in SQLite, which the server writes edit by edit.
/// PostgreSQL gets the writes of a group together: see `GroupWrites`.
struct CollectionRows {
  let connection: SQLiteConnection

  /// Writes the changes of one collection, and records their revision if no row contains it.
  func apply(_ edits: CollectionEdits, at location: MutationLocation) throws {
    switch edits {
    case .list(let edits): try apply(edits, at: location)
    case .map(let edits): try apply(edits, at: location)
    }
    if edits.needRemovalRecord { try RemovalRecords.note(at: location, in: connection) }
  }

  private func apply(_ edits: [ListEdit], at location: MutationLocation) throws {
    let (owner, revision) = (owner(location), location.revision.sqliteValue)
    let ranks = ranks(of: owner)
    for edit in edits {
      switch edit {
      case .inserted(let id, let item, let gap):
        let rank = try ranks.rank(in: gap).sqliteValue
        try connection.run(Self.insert, owner + [id.sqliteValue, item.sqliteValue, rank, revision])
      case .modified(let id, let item):
        try connection.run(Self.replace, owner + [id.sqliteValue, item.sqliteValue, revision])
      case .moved(let id, let gap):
        try connection.run(Self.move, owner + [id.sqliteValue, try ranks.rank(in: gap).sqliteValue, revision])
      case .removed(let id): try connection.run(Self.remove, owner + [id.sqliteValue])
      case .cleared: try connection.run(Self.clear, owner)
      }
    }
  }

  private func apply(_ edits: [MapEdit], at location: MutationLocation) throws {
    let (owner, revision) = (owner(location), location.revision.sqliteValue)
    for edit in edits {
      switch edit {
      case .set(let key, let value):
        try connection.run(Self.set, owner + [key.sqliteValue, value.sqliteValue, revision])
      case .removed(let key): try connection.run(Self.unset, owner + [key.sqliteValue])
      case .cleared: try connection.run(Self.clearMap, owner)
      }
    }
  }

  private func owner(_ location: MutationLocation) -> [SQLiteValue] {
    [location.user.sqliteValue, .text(location.collection.description)]
  }

  private func ranks(of owner: [SQLiteValue]) -> ListRanks {
    ListRanks(
      rank: { [connection] id in
        var rank: Int?
        try connection.forEach(Self.rank, owner + [id.sqliteValue]) { rank = try $0[0] }
        return rank
      },
      setRank: { [connection] item, rank in
        try connection.run(Self.setRank, owner + [item.id.sqliteValue, rank.sqliteValue])
      }
    )
  }

  private static let insert = SQLText(
    "INSERT INTO list_elements (user_id, collection, id, element, rank, revision) VALUES (?, ?, ?, ?, ?, ?)"
  )
  private static let replace = SQLText(
    "UPDATE list_elements SET element = ?4, revision = ?5 WHERE user_id = ?1 AND collection = ?2 AND id = ?3"
  )
  private static let move = SQLText(
    "UPDATE list_elements SET rank = ?4, revision = ?5 WHERE user_id = ?1 AND collection = ?2 AND id = ?3"
  )
  private static let setRank = SQLText(
    "UPDATE list_elements SET rank = ?4 WHERE user_id = ?1 AND collection = ?2 AND id = ?3"
  )
  private static let rank = SQLText(
    "SELECT rank FROM list_elements WHERE user_id = ? AND collection = ? AND id = ?"
  )
  private static let remove = SQLText("DELETE FROM list_elements WHERE user_id = ? AND collection = ? AND id = ?")
  private static let clear = SQLText("DELETE FROM list_elements WHERE user_id = ? AND collection = ?")

  private static let set = SQLText(
    """
    INSERT INTO map_values (user_id, collection, key, value, revision) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, collection, key) DO UPDATE SET value = excluded.value, revision = excluded.revision
    """
  )
  private static let unset = SQLText("DELETE FROM map_values WHERE user_id = ? AND collection = ? AND key = ?")
  private static let clearMap = SQLText("DELETE FROM map_values WHERE user_id = ? AND collection = ?")
}

extension ElementKey {
  fileprivate var sqliteValue: SQLiteValue { .text(text) }
}

extension EncodedJSON {
  fileprivate var sqliteValue: SQLiteValue { .text(String(decoding: encoded, as: UTF8.self)) }
}
