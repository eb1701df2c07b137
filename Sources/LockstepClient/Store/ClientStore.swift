import Foundation
import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepTime

/// The file of a client: the copy with its position, and the outbox. Each change is one transaction.
///
/// Several processes may use one file, such as an app and its extension. Each transaction begins with what the
/// others have changed.
///
/// One thread at a time may use it.
final class ClientStore {
  /// The version of the tables.
  private static let schema = 1
  /// "LKCL": SQLite's `application_id` of a client's file.
  private static let application = 0x4C4B_434C
  /// For how long the outcome of a write waits for the process that made the write.
  private static let outcomeLifetime: Int64 = 3_600_000
  /// The deepest JSON of a row. An action has up to 128 levels, and an entry has some more.
  static let deepest = 256

  /// Nil for a store in memory.
  private let path: String?
  /// Nil between `close` and the next use.
  private var openConnection: SQLiteConnection?
  /// The changes of the file that this process has read.
  private var seen = 0
  /// The bytes of a collection as a whole, and of the changesets after it.
  private var sizes: [CollectionName: (whole: Int, changesets: Int)] = [:]

  /// Opens a file, and creates it if there is none. Nil keeps everything in memory.
  init(path: String?) throws(LockstepClientError) {
    self.path = path
    do {
      let connection = try path.map { try SQLiteConnection(path: $0) } ?? SQLiteConnection.inMemory()
      openConnection = connection
      #if canImport(Darwin)
        // A backup that is restored on a device would send old writes again.
        if let path {
          var file = URL(fileURLWithPath: path)
          var values = URLResourceValues()
          values.isExcludedFromBackup = true
          try file.setResourceValues(values)
        }
      #endif
      try connection.transaction {
        let id = try connection.first("PRAGMA application_id") { try $0[0] as Int } ?? 0
        let objects = try connection.first("SELECT count(*) FROM sqlite_schema") { try $0[0] as Int } ?? 0
        if id == 0, objects == 0 { return try connection.execute(Self.tables) }
        guard id == Self.application else {
          throw LockstepClientError(.otherDatabase, "The file \(path ?? "") is another program's database.")
        }
        let found = try connection.first("PRAGMA user_version") { try $0[0] as Int } ?? 0
        guard found <= Self.schema else {
          let sentence = "The file \(path ?? "") belongs to a newer version of the app (schema \(found))."
          throw LockstepClientError(.newerVersion, sentence)
        }
      }
    } catch { throw LockstepClientError(error) }
  }

  /// The connection to the file. Opens the file again after `close`.
  private var connection: SQLiteConnection {
    get throws {
      if let openConnection { return openConnection }
      // Opening the file would create an empty one.
      guard let path, FileManager.default.fileExists(atPath: path) else {
        throw LockstepClientError(.other, "The client's file was deleted.")
      }
      let connection = try SQLiteConnection(path: path)
      openConnection = connection
      return connection
    }
  }

  /// Closes the file until it is used again. While it is open, the process has shared locks on the file and on the
  /// file `-shm`, also between transactions.
  func close() {
    if path != nil { openConnection = nil }
  }

  /// Deletes the file at `path`, and the files of SQLite and of the client that belong to it.
  static func remove(at path: String) throws {
    for suffix in Self.suffixes where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
  }

  /// The ends of the names of the files of SQLite and of the client.
  static let suffixes = ["-changed", "-wal", "-shm", ""]

  /// The error for content that the client cannot read, because the client has not written it or
  /// because it was changed since.
  private static func damage(_ place: String) -> LockstepClientError {
    let advice = "See LockstepClient.setStoreAside(at:)."
    return LockstepClientError(.damaged, "The client's file is damaged: \(place) cannot be read. \(advice)")
  }

  private static func json(_ text: String, of place: String) throws -> JSON {
    do { return try JSON(parsing: Array(text.utf8), maximumDepth: deepest) } catch { throw damage(place) }
  }

  /// Everything that the file has.
  func read() throws -> StoreContents {
    seen = 0
    return try connection.snapshot { try contents() }
  }

  /// The changes of other processes since the last reading; nil if there are none.
  func newContents() throws -> StoreContents? {
    guard try latestChange() != seen else { return nil }
    return try connection.snapshot { try contents() }
  }

  /// Makes a change on top of what other processes have changed. `body` gets that, and returns the change;
  /// nil to change nothing. If this throws, the file has not changed. Without `sync`, a power failure may undo
  /// the change, together with all later ones.
  func update(at now: Timestamp, sync: Bool = true, _ body: (StoreContents?) throws -> StoreChange?) throws {
    let before = sizes
    var isChanged = false
    do {
      let connection = try self.connection
      try (sync ? connection.transaction : connection.transactionWithoutSync) {
        let change = try body(try latestChange() == seen ? nil : contents())
        guard let change, !change.isEmpty else { return }
        try write(change, as: seen + 1, at: now)
        isChanged = true
      }
    } catch {
      sizes = before
      throw error
    }
    if isChanged { seen += 1 }
  }

  /// Gives this process the lease until `end`. If another running process has the lease, changes nothing, and returns
  /// when that lease ends. Nil: this process has the lease.
  func lead(as process: String, from now: Timestamp, until end: Timestamp) throws -> Timestamp? {
    try connection.transactionWithoutSync {
      let other = try connection.first("SELECT leader, leader_until FROM client") { row -> Timestamp? in
        guard let leader: String = try row[0], let until: Int = try row[1], leader != process else { return nil }
        if !ProcessName.mayRun(leader) { return nil }
        // A lease that ends later than a new one is from a time before the clock was set back.
        let isRunning = Int64(until) > now.millisecondsSince1970 && Int64(until) <= end.millisecondsSince1970
        return isRunning ? Timestamp(millisecondsSince1970: Int64(until)) : nil
      }
      if let other = other ?? nil { return other }
      let end = Int(end.millisecondsSince1970)
      try connection.run("UPDATE client SET leader = ?, leader_until = ?", process, end)
      return nil
    }
  }

  /// Ends the lease of this process.
  func stopLeading(as process: String) throws {
    try connection.transactionWithoutSync {
      _ = try connection.run("UPDATE client SET leader = NULL, leader_until = NULL WHERE leader = ?", process)
    }
  }

  /// The process that follows the server, and its connection; nil if none does.
  func leader() throws -> (process: String, connection: ConnectionState?)? {
    let found = try connection.first("SELECT leader, connection FROM client") { row in
      let (process, text): (String?, String?) = (try row[0], try row[1])
      return try process.map { process in
        (process, try text.flatMap { ConnectionState(try Self.json($0, of: "the connection")) })
      }
    }
    return found ?? nil
  }

  private func latestChange() throws -> Int {
    try connection.first("SELECT change FROM client") { try $0[0] as Int } ?? 0
  }

  // MARK: - Reading

  private func contents() throws -> StoreContents {
    var contents = StoreContents()
    try connection.forEach(
      "SELECT change, last, user, followed, cursor, revision, connection, logins, logged_out FROM client"
    ) {
      row in
      (contents.change, contents.lastNumber) = (try row[0], Int64(try row[1] as Int))
      let followed: String? = try row[3]
      (contents.owner.user, contents.owner.logins) = (try row[2], try row[7])
      contents.owner.isLoggedOut = try row[8] as Int == 1
      contents.owner.followed = try followed.map {
        (try Self.json($0, of: "the collections").arrayValue ?? []).compactMap(\.stringValue)
      }
      if let text: String = try row[6] {
        contents.connection = ConnectionState(try Self.json(text, of: "the connection"))
      }
      let counts = [contents.change, Int(contents.lastNumber), contents.owner.logins]
      guard counts.allSatisfy((0..<1 << 60).contains) else { throw Self.damage("a number") }
      guard let cursor: String = try row[4], let revision: Int = try row[5] else { return }
      guard ChangesDocument.Position.isRevision(revision) else { throw Self.damage("the position") }
      contents.position = ChangesDocument.Position(cursor: cursor, revision: revision)
    }
    try readCollections(into: &contents)
    try connection.forEach("SELECT number FROM outbox") { contents.numbers.insert(Int64(try $0[0] as Int)) }
    try connection.forEach("SELECT number, entry FROM outbox WHERE change > ? ORDER BY number", seen) { row in
      let (number, text): (Int, String) = (try row[0], try row[1])
      let json = try Self.json(text, of: "a write")
      guard let entry = OutboxEntry(json, number: Int64(number)) else { throw Self.damage("a write") }
      contents.entries.append(entry)
    }
    try connection.forEach("SELECT number, outcome FROM outcomes WHERE change > ?", seen) { row in
      let (number, text): (Int, String) = (try row[0], try row[1])
      contents.outcomes.append((Int64(number), WriteOutcome(try Self.json(text, of: "a result"))))
    }
    seen = contents.change
    return contents
  }

  private func readCollections(into contents: inout StoreContents) throws {
    let revision = Revision(number: contents.position?.revision ?? 0)
    try connection.forEach("SELECT name FROM collections") { row in
      contents.names.insert(CollectionName(text: try row[0] as String))
    }
    sizes = sizes.filter { contents.names.contains($0.key) }
    try connection.forEach("SELECT name, kind, text FROM collections WHERE change > ?", seen) { row in
      let (name, kind, text): (String, String, String) = (try row[0], try row[1], try row[2])
      let json = try Self.json(text, of: "the collection \(name)")
      contents.collections[CollectionName(text: name)] =
        kind == "list" ? .list(Self.list(json, revision)) : .map(Self.map(json, revision))
      sizes[CollectionName(text: name)] = (text.utf8.count, 0)
    }
    try connection.forEach("SELECT text FROM changesets WHERE change > ? ORDER BY number", seen) { row in
      let text: String = try row[0]
      guard let changeset = ChangesDocument.Changeset(try Self.json(text, of: "a change")) else {
        throw Self.damage("a change")
      }
      contents.changesets.append(changeset)
      sizes[changeset.collection]?.changesets += text.utf8.count
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

  // MARK: - Writing

  private func write(_ change: StoreChange, as number: Int, at now: Timestamp) throws {
    for (name, state) in change.collections { try write(state, of: name, as: number) }
    for changeset in change.changesets {
      let text = changeset.json.description
      try connection.run(
        "INSERT INTO changesets (collection, text, change) VALUES (?, ?, ?)",
        changeset.collection.description,
        text,
        number
      )
      sizes[changeset.collection, default: (0, 0)].changesets += text.utf8.count
    }
    if let position = change.position {
      try connection.run("UPDATE client SET cursor = ?, revision = ?", position?.cursor, position?.revision)
    }
    if let owner = change.owner {
      let followed = owner.followed.map { JSON.array($0.map(JSON.string)).description }
      try connection.run(
        "UPDATE client SET user = ?, followed = ?, logins = ?, logged_out = ?",
        owner.user,
        followed,
        owner.logins,
        owner.isLoggedOut ? 1 : 0
      )
    }
    if let (state, process) = change.connection {
      try connection.run(
        "UPDATE client SET connection = ? WHERE leader IS NULL OR leader = ?",
        state.json.description,
        process
      )
    }
    for (entryNumber, entry) in change.writes { try write(entry, number: Int(entryNumber), as: number) }
    let time = Int(now.millisecondsSince1970)
    if !change.outcomes.isEmpty {
      try connection.run("DELETE FROM outcomes WHERE at < ?", time - Int(Self.outcomeLifetime))
    }
    for (entryNumber, outcome) in change.outcomes {
      try connection.run(
        "INSERT OR REPLACE INTO outcomes (number, outcome, at, change) VALUES (?, ?, ?, ?)",
        Int(entryNumber),
        outcome.json.description,
        time,
        number
      )
    }
    try connection.run("UPDATE client SET change = ?", number)
  }

  private func write(_ state: CollectionState?, of name: CollectionName, as number: Int) throws {
    try connection.run("DELETE FROM changesets WHERE collection = ?", name.description)
    guard let state else {
      try connection.run("DELETE FROM collections WHERE name = ?", name.description)
      sizes[name] = nil
      return
    }
    let text = String(decoding: state.encoded, as: UTF8.self)
    try connection.run(
      "INSERT OR REPLACE INTO collections (name, kind, text, change) VALUES (?, ?, ?, ?)",
      name.description,
      state.kindName,
      text,
      number
    )
    sizes[name] = (text.utf8.count, 0)
  }

  private func write(_ entry: OutboxEntry?, number: Int, as change: Int) throws {
    guard let entry else {
      try connection.run("DELETE FROM outbox WHERE number = ?", number)
      return
    }
    try connection.run(
      "INSERT OR REPLACE INTO outbox (number, entry, change) VALUES (?, ?, ?)",
      number,
      entry.json.description,
      change
    )
    try connection.run("UPDATE client SET last = max(last, ?)", number)
  }

  /// Whether the changesets of a collection take so much more than the collection that it is better written as
  /// a whole. So a change of a long list costs little, and reading the file costs at most twice its size.
  func isWorthRewriting(_ name: CollectionName) -> Bool {
    guard let size = sizes[name] else { return true }
    return size.changesets > max(65_536, size.whole)
  }

  private static let tables = """
    CREATE TABLE client (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      change INTEGER NOT NULL DEFAULT 0,
      last INTEGER NOT NULL DEFAULT 0,
      user TEXT,
      logins INTEGER NOT NULL DEFAULT 0,
      logged_out INTEGER NOT NULL DEFAULT 0,
      followed TEXT,
      cursor TEXT,
      revision INTEGER,
      connection TEXT,
      leader TEXT,
      leader_until INTEGER
    ) STRICT;
    CREATE TABLE collections (name TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, change INTEGER NOT NULL)
      STRICT;
    CREATE TABLE changesets (
      number INTEGER PRIMARY KEY, collection TEXT NOT NULL, text TEXT NOT NULL, change INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX changesets_of_collection ON changesets (collection);
    CREATE TABLE outbox (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, change INTEGER NOT NULL) STRICT;
    CREATE INDEX outbox_by_change ON outbox (change);
    CREATE TABLE outcomes (number INTEGER PRIMARY KEY, outcome TEXT NOT NULL, at INTEGER NOT NULL, change INTEGER NOT NULL)
      STRICT;
    CREATE INDEX outcomes_by_time ON outcomes (at);
    INSERT INTO client (only_row) VALUES (1);
    PRAGMA application_id = \(application);
    PRAGMA user_version = \(schema);
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
