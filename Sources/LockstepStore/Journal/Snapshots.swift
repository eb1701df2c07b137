import LockstepCollections
import LockstepJSON

/// The table `snapshots`: collections at past revisions.
package struct Snapshots {
  package struct Name: Sendable {
    package let collection: CollectionName
    package let revision: Revision
  }

  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// The newest snapshot of a collection up to a revision. If there is none, the collection's
  /// history begins with an empty state. Throws `SnapshotDamagedError` if the snapshot cannot be
  /// read, because a state that is rebuilt without it would be wrong.
  package func latest(
    of collection: CollectionName,
    of user: UserID,
    upTo revision: Revision
  ) throws -> (revision: Revision, state: CollectionState)? {
    let found = try connection.first(
      """
      SELECT revision, state FROM snapshots
      WHERE user_id = ? AND collection = ? AND revision <= ? ORDER BY revision DESC LIMIT 1
      """,
      user,
      collection.description,
      revision
    ) { row in
      (try row[0] as Revision, CollectionState(snapshot: Array((try row[1] as String).utf8)))
    }
    guard let (revision, state) = found else { return nil }
    guard let state else { throw SnapshotDamagedError(user: user, collection: collection, revision: revision) }
    return (revision, state)
  }

  /// The snapshots of a user, by collection, and within a collection oldest first.
  package func names(of user: UserID) throws -> [Name] {
    try connection.all(
      "SELECT collection, revision FROM snapshots WHERE user_id = ? ORDER BY collection, revision",
      user
    ) { Name(collection: CollectionName(text: try $0[0] as String), revision: try $0[1]) }
  }

  /// The length of the longest snapshot of a user, in bytes; 0 if there is none.
  package func longest(of user: UserID) throws -> Int {
    try connection.first(
      StoreSQL(
        sqlite: "SELECT coalesce(max(length(CAST(state AS BLOB))), 0) FROM snapshots WHERE user_id = ?",
        postgreSQL: "SELECT coalesce(max(octet_length(state)), 0) FROM snapshots WHERE user_id = ?"
      ),
      user
    ) { try $0[0] } ?? 0
  }

  package func keep(
    _ state: CollectionState,
    as collection: CollectionName,
    of user: UserID,
    at revision: Revision
  ) throws { try keep(state.snapshotText, as: collection, of: user, at: revision) }

  /// Keeps a snapshot that was encoded before. `text` is the state's `snapshotText`.
  package func keep(
    _ text: String,
    as collection: CollectionName,
    of user: UserID,
    at revision: Revision
  ) throws {
    try connection.run(
      """
      INSERT INTO snapshots (user_id, collection, revision, state) VALUES (?, ?, ?, ?)
      ON CONFLICT (user_id, collection, revision) DO UPDATE SET state = excluded.state
      """,
      user,
      collection.description,
      revision,
      text
    )
  }

  /// The snapshots of a user that no revision in the journal needs, because a later one replaces
  /// them, with their lengths in bytes. A snapshot that is obsolete once stays obsolete.
  package func obsolete(of user: UserID) throws -> [(name: Name, bytes: Int)] {
    try connection.all(
      StoreSQL(
        sqlite: """
          SELECT collection, revision, length(CAST(state AS BLOB)) FROM snapshots AS old
          WHERE user_id = ?1 AND EXISTS (
            SELECT 1 FROM snapshots
            WHERE user_id = ?1 AND collection = old.collection AND revision > old.revision
              AND revision <= (SELECT min(revision) FROM journal WHERE user_id = ?1)
          )
          """,
        postgreSQL: """
          SELECT collection, revision, octet_length(state) FROM snapshots AS old
          WHERE user_id = ?1 AND EXISTS (
            SELECT 1 FROM snapshots
            WHERE user_id = ?1 AND collection = old.collection AND revision > old.revision
              AND revision >> 20 <= (SELECT min(number) FROM journal WHERE user_id = ?1)
          )
          """
      ),
      user
    ) { (Name(collection: CollectionName(text: try $0[0] as String), revision: try $0[1]), try $0[2]) }
  }

  package func delete(_ name: Name, of user: UserID) throws {
    try connection.run(
      "DELETE FROM snapshots WHERE user_id = ? AND collection = ? AND revision = ?",
      user,
      name.collection.description,
      name.revision
    )
  }

  /// Deletes all snapshots of a collection.
  package func deleteAll(of collection: CollectionName, of user: UserID) throws {
    try connection.run(
      "DELETE FROM snapshots WHERE user_id = ? AND collection = ?",
      user,
      collection.description
    )
  }
}

/// A snapshot cannot be read, because the file was changed by hand or the disk is damaged.
package struct SnapshotDamagedError: Error, CustomStringConvertible {
  let user: UserID
  package let collection: CollectionName
  package let revision: Revision

  package var description: String {
    "the snapshot of \(collection) of user \(user) at revision \(revision) cannot be read: the store is damaged. "
      + "Restore a backup. Do not delete the snapshot: states rebuilt without it can be wrong."
  }
}

// The format of collections in the table `snapshots`:
// `{"kind":"list","revision":7,"items":[[3,{…}],…]}`,
// `{"kind":"map","revision":7,"values":[["key",3,…],…]}`.

extension CollectionState {
  package var snapshotText: String { String(decoding: snapshot, as: UTF8.self) }

  /// The collection in this format.
  var snapshot: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(self.bytes + count * 16 + 64)
    switch self {
    case .list(let list):
      bytes.append(contentsOf: #"{"kind":"list","revision":\#(list.revision.rawValue),"items":["#.utf8)
      for (index, item) in list.items.enumerated() {
        bytes.append(contentsOf: "\(index > 0 ? "," : "")[\(item.revision.rawValue),".utf8)
        bytes.append(contentsOf: item.text)
        bytes.append(UInt8(ascii: "]"))
      }
    case .map(let map):
      bytes.append(contentsOf: #"{"kind":"map","revision":\#(map.revision.rawValue),"values":["#.utf8)
      for (index, entry) in map.values.enumerated() {
        bytes.append(contentsOf: index > 0 ? ",[".utf8 : "[".utf8)
        bytes.append(json: entry.key.text)
        bytes.append(contentsOf: ",\(entry.value.revision.rawValue),".utf8)
        bytes.append(contentsOf: entry.value.text)
        bytes.append(UInt8(ascii: "]"))
      }
    }
    bytes.append(contentsOf: "]}".utf8)
    return bytes
  }

  /// Reads this format; nil if the text is malformed.
  init?(snapshot: [UInt8]) {
    let json = JSON(trusting: snapshot)
    guard let revision = json["revision"]?.revision else { return nil }
    if json["kind"]?.stringValue == "list", let rows = json["items"]?.arrayValue {
      let items = rows.compactMap { row -> ListItem? in
        guard let item = row[1], let id = item["id"]?.stringValue, let revision = row[0]?.revision else { return nil }
        return ListItem(id: ElementKey(id), encoded: item.encoded(), revision: revision)
      }
      self = .list(ListState(items, revision: revision))
    } else if let rows = json["values"]?.arrayValue {
      let values = rows.compactMap { row -> (key: ElementKey, value: MapValue)? in
        guard let key = row[0]?.stringValue, let revision = row[1]?.revision, let value = row[2] else { return nil }
        return (ElementKey(key), MapValue(encoded: value.encoded(), revision: revision))
      }
      self = .map(MapState(values, revision: revision))
    } else {
      return nil
    }
  }
}

extension JSON {
  fileprivate var revision: Revision? { intValue.map(Revision.init(rawValue:)) }
}
