import LockstepCollections
import LockstepJSON
import LockstepSQLite

/// The file of a client: the copy with its position, and the outbox. Each change is one transaction, which is
/// on disk when `write` returns.
///
/// One thread at a time may use it.
final class ClientStore {
  /// The contents of the file.
  struct Contents {
    var copy = ClientCopy()
    var outbox = Outbox()
    /// The user whose state this is; nil before the first login.
    var user: String?
    /// The collections that the client follows, in order; nil for all.
    var followed: [String]?
  }

  /// A change of the file.
  struct Change {
    /// The collections that differ from the stored ones; nil for one that is gone.
    var collections: [CollectionName: CollectionState?] = [:]
    /// Set if the position has changed.
    var position: ChangesDocument.Position??
    /// Set if the owner has changed.
    var owner: Owner?
    /// Writes that were added or changed; nil for one that is gone.
    var writes: [Int64: OutboxEntry?] = [:]

    struct Owner {
      let user: String?
      let followed: [String]?
    }

    var isEmpty: Bool { collections.isEmpty && position == nil && owner == nil && writes.isEmpty }
  }

  /// The version of the tables.
  private static let schema = 1

  private let connection: SQLiteConnection

  /// Opens a file, and creates it if there is none. Nil keeps everything in memory.
  init(path: String?) throws {
    connection = try path.map { try SQLiteConnection(path: $0) } ?? SQLiteConnection.inMemory()
    let found = try connection.first("PRAGMA user_version") { try $0[0] as Int } ?? 0
    guard found <= Self.schema else {
      throw ClientFailure("The file \(path ?? "") belongs to a newer version of the app (schema \(found)).")
    }
    if found == 0 { try connection.transaction { try connection.execute(Self.tables) } }
  }

  func read() throws -> Contents {
    var contents = Contents()
    var position: ChangesDocument.Position?
    try connection.forEach("SELECT user, followed, cursor, revision FROM client") { row in
      contents.user = try row[0]
      let followed: String? = try row[1]
      contents.followed = followed.map { (JSON(trusting: Array($0.utf8)).arrayValue ?? []).compactMap(\.stringValue) }
      guard let cursor: String = try row[2], let revision: Int = try row[3] else { return }
      position = ChangesDocument.Position(cursor: cursor, revision: revision)
    }
    var state = UserState()
    let revision = Revision(number: position?.revision ?? 0)
    try connection.forEach("SELECT name, kind, text FROM collections") { row in
      let (name, kind, text): (String, String, String) = (try row[0], try row[1], try row[2])
      let json = JSON(trusting: Array(text.utf8))
      state.collections[CollectionName(text: name)] =
        kind == "list" ? .list(Self.list(json, revision)) : .map(Self.map(json, revision))
    }
    contents.copy = ClientCopy(state, position)
    var entries: [OutboxEntry] = []
    try connection.forEach("SELECT number, entry FROM outbox ORDER BY number") { row in
      let (number, text): (Int, String) = (try row[0], try row[1])
      if let entry = OutboxEntry(JSON(trusting: Array(text.utf8)), number: Int64(number)) { entries.append(entry) }
    }
    contents.outbox = Outbox(entries)
    return contents
  }

  func write(_ change: Change) throws {
    if change.isEmpty { return }
    try connection.transaction {
      for (name, state) in change.collections {
        guard let state else {
          try connection.run("DELETE FROM collections WHERE name = ?", name.description)
          continue
        }
        try connection.run(
          "INSERT OR REPLACE INTO collections (name, kind, text) VALUES (?, ?, ?)",
          name.description,
          state.kindName,
          String(decoding: state.encoded, as: UTF8.self)
        )
      }
      if let position = change.position {
        try connection.run("UPDATE client SET cursor = ?, revision = ?", position?.cursor, position?.revision)
      }
      if let owner = change.owner {
        let followed = owner.followed.map { JSON.array($0.map(JSON.string)).description }
        try connection.run("UPDATE client SET user = ?, followed = ?", owner.user, followed)
      }
      for (number, entry) in change.writes {
        if let entry {
          try connection.run(
            "INSERT OR REPLACE INTO outbox (number, entry) VALUES (?, ?)",
            Int(number),
            entry.json.description
          )
        } else {
          try connection.run("DELETE FROM outbox WHERE number = ?", Int(number))
        }
      }
    }
  }

  private static func list(_ json: JSON, _ revision: Revision) -> ListState {
    let items = (json.arrayValue ?? []).map { item in
      ListItem(id: ElementKey(item["id"]?.stringValue ?? ""), encoded: item.encoded(), revision: revision)
    }
    return ListState(items, revision: revision)
  }

  private static func map(_ json: JSON, _ revision: Revision) -> MapState {
    let values = (json.objectValue ?? JSONObject()).map { member in
      (key: ElementKey(member.name), value: MapValue(encoded: member.value.encoded(), revision: revision))
    }
    return MapState(values, revision: revision)
  }

  private static let tables = """
    CREATE TABLE client (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      user TEXT,
      followed TEXT,
      cursor TEXT,
      revision INTEGER
    ) STRICT;
    CREATE TABLE collections (name TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT;
    CREATE TABLE outbox (number INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
    INSERT INTO client (only_row) VALUES (1);
    PRAGMA user_version = 1;
    """
}

extension CollectionState {
  fileprivate var kindName: String {
    switch self {
    case .list: "list"
    case .map: "map"
    }
  }

  /// The elements as a JSON array, or the values as a JSON object.
  fileprivate var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length + 2)
    switch self {
    case .list: bytes.append(UInt8(ascii: "["))
    case .map: bytes.append(UInt8(ascii: "{"))
    }
    for (index, text) in texts.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += text
    }
    switch self {
    case .list: bytes.append(UInt8(ascii: "]"))
    case .map: bytes.append(UInt8(ascii: "}"))
    }
    return bytes
  }
}
