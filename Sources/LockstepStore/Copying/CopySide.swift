import LockstepPostgreSQL
import LockstepSQLite

/// One of the two stores of a copy: the source, or the target that gets its rows. One thread uses it.
package protocol CopySide: AnyObject {
  /// The store in messages.
  var name: String { get }
  var isPostgreSQL: Bool { get }

  /// Whether a server uses the store in PostgreSQL. A store in SQLite is locked for the whole copy.
  func isServed() throws -> Bool

  func userCount() throws -> Int

  /// The next users after `last`, in the order of their ids.
  func users(after last: String, limit: Int) throws -> [String]

  /// Passes the rows of a table to `body`: those of the users in the range, or all.
  func read(_ table: CopiedTable, _ range: CopyRange, _ body: (CopiedTable.Row) throws -> Void) throws

  /// Runs `body`, which only reads, on one state of the store.
  func snapshot(_ body: () throws -> Void) throws

  func transaction(_ body: () throws -> Void) throws

  /// Adds rows to a table.
  func insert(_ rows: [CopiedTable.Row], into table: CopiedTable) throws

  /// Deletes all users in the range with all of their rows.
  func deleteUsers(in range: CopyRange) throws

  /// Deletes all rows of a table that is not of users.
  func deleteAll(of table: CopiedTable) throws

  /// The contents of the table `store`.
  func identity() throws -> StoreIdentity
  func setIdentity(_ identity: StoreIdentity) throws

  /// Whether the store has users, or anything else that a copy would replace.
  func hasContents() throws -> Bool
}

/// A range of user ids, as texts.
package struct CopyRange: Sendable {
  /// The range begins after this id.
  let start: String
  /// The range includes this id.
  let end: String

  static let lowest = "00000000-0000-0000-0000-000000000000"
  static let highest = "ffffffff-ffff-ffff-ffff-ffffffffffff"
  static let all = CopyRange(start: lowest, end: highest)
}

/// The row of the table `store`, as far as a copy has it: the values that make cursors valid, and the
/// rule for passwords.
package struct StoreIdentity: Sendable, Equatable {
  package let id: String
  let createdAt: Int64
  let journalEnd: Int64
  let shortestPassword: Int
}

// MARK: - SQLite

/// A store in SQLite, as a side of a copy. The caller has locked it.
package final class SQLiteCopySide: CopySide {
  package let name: String
  package let isPostgreSQL = false
  private let connection: SQLiteConnection

  package init(_ connection: SQLiteConnection, name: String) {
    (self.connection, self.name) = (connection, name)
  }

  package func isServed() -> Bool { false }
  package func userCount() throws -> Int { try StoreConnection.sqlite(connection).userCount() }

  package func users(after last: String, limit: Int) throws -> [String] {
    try connection.all("SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?", last, limit) { try $0[0] }
  }

  package func read(_ table: CopiedTable, _ range: CopyRange, _ body: (CopiedTable.Row) throws -> Void) throws {
    let values: [SQLiteValue] = table.isOfUsers ? [.text(range.start), .text(range.end)] : []
    try connection.forEach(table.sqliteRead, values) { row in
      var values: [SQLiteValue] = []
      let count = row.columnCount
      values.reserveCapacity(count)
      for column in 0..<count { values.append(try row[column]) }
      try body(values)
    }
  }

  package func snapshot(_ body: () throws -> Void) throws { try connection.snapshot(body) }
  package func transaction(_ body: () throws -> Void) throws { try connection.transaction(body) }

  package func insert(_ rows: [CopiedTable.Row], into table: CopiedTable) throws {
    guard let insert = table.sqliteInsert else { return }
    for row in rows { try connection.run(insert, row) }
  }

  package func deleteUsers(in range: CopyRange) throws {
    // Foreign keys delete the users' other rows.
    try connection.run("DELETE FROM users WHERE id > ? AND id <= ?", range.start, range.end)
  }

  package func deleteAll(of table: CopiedTable) throws {
    try connection.run(table.sqliteDelete, [])
  }

  /// Creates the views of the copied collections.
  package func createViews() throws {
    try connection.transaction { try CollectionViews(connection: connection).update() }
  }

  package func identity() throws -> StoreIdentity {
    try StoreConnection.sqlite(connection).copiedIdentity()
  }

  package func setIdentity(_ identity: StoreIdentity) throws {
    try StoreConnection.sqlite(connection).setCopiedIdentity(identity)
  }

  package func hasContents() throws -> Bool { try StoreConnection.sqlite(connection).hasContents() }
}

// MARK: - PostgreSQL

/// A store in PostgreSQL, as a side of a copy.
package final class PostgreSQLCopySide: CopySide {
  package let name: String
  package let isPostgreSQL = true
  private let session: PostgreSQLSession
  private var connection: StoreConnection { .postgreSQL(session) }
  /// By table.
  private var cursors: [String: Cursor] = [:]
  private var inserts: [String: PostgreSQLStatement] = [:]
  private var deletes: [String: PostgreSQLStatement] = [:]

  private struct Cursor {
    let declare: PostgreSQLStatement
    let close: PostgreSQLStatement
    /// For 16, 128 and 1,024 rows.
    let fetch: [PostgreSQLStatement]
  }

  package init(_ database: StoreDatabase) throws {
    name = database.name
    session = try database.openCopySession()
  }

  package func isServed() throws -> Bool { try connection.isServed() }
  package func userCount() throws -> Int { try connection.userCount() }

  package func users(after last: String, limit: Int) throws -> [String] {
    try connection.all("SELECT id::text FROM users WHERE id > ? ORDER BY id LIMIT ?", last, limit) { try $0[0] }
  }

  package func read(_ table: CopiedTable, _ range: CopyRange, _ body: (CopiedTable.Row) throws -> Void) throws {
    let cursor = cursor(of: table)
    var begin = PostgreSQLPipeline()
    begin.add(cursor.declare, table.isOfUsers ? [.text(range.start), .text(range.end)] : [])
    var next = 0
    begin.add(cursor.fetch[next])
    var result = try session.send(begin)[1]
    while true {
      var bytes = 0
      for index in 0..<result.rowCount {
        let row = PostgreSQLStoreRow(result: result, index: index)
        var values: [SQLiteValue] = []
        values.reserveCapacity(table.columns.count)
        for column in table.columns.indices {
          let value: SQLiteValue = try row.value(at: column)
          bytes += value.copiedBytes
          values.append(value)
        }
        try body(values)
      }
      var pipeline = PostgreSQLPipeline()
      if result.rowCount < Self.fetchedRows[next] {
        pipeline.add(cursor.close)
        _ = try session.send(pipeline)
        return
      }
      // All rows of a result are in memory.
      if bytes < 128 * 1024 { next = min(next + 1, Self.fetchedRows.count - 1) }
      if bytes > 4 * 1024 * 1024 { next = 0 }
      pipeline.add(cursor.fetch[next])
      result = try session.send(pipeline)[0]
    }
  }

  private static let fetchedRows = [16, 128, 1_024]

  private func cursor(of table: CopiedTable) -> Cursor {
    if let known = cursors[table.name] { return known }
    let name = "copied_\(table.name)"
    let new = Cursor(
      declare: PostgreSQLStatement("DECLARE \(name) NO SCROLL CURSOR FOR \(table.postgreSQLRead)"),
      close: PostgreSQLStatement("CLOSE \(name)"),
      fetch: Self.fetchedRows.map { PostgreSQLStatement("FETCH \($0) FROM \(name)") }
    )
    cursors[table.name] = new
    return new
  }

  package func snapshot(_ body: () throws -> Void) throws { try session.snapshot(body) }
  package func transaction(_ body: () throws -> Void) throws { try session.transaction(body) }

  package func insert(_ rows: [CopiedTable.Row], into table: CopiedTable) throws {
    if rows.isEmpty { return }
    let statement = inserts[table.name] ?? PostgreSQLStatement(table.postgreSQLInsert)
    inserts[table.name] = statement
    var pipeline = PostgreSQLPipeline()
    pipeline.add(
      statement,
      try table.columns.enumerated().map { index, column in
        try Self.array(of: column.kind, rows.map { $0[index] }, table)
      }
    )
    _ = try session.send(pipeline)
  }

  private static func array(
    of kind: CopiedTable.Kind,
    _ values: [SQLiteValue],
    _ table: CopiedTable
  ) throws -> PostgreSQLValue {
    func all<Value>(_ value: (SQLiteValue) -> Value?) throws -> [Value?] {
      try values.map { stored in
        if stored == .null { return nil }
        guard let value = value(stored) else { throw CopyError.unreadable(table: table.name) }
        return value
      }
    }
    switch kind {
    case .uuid, .text: return .optionalTexts(try all { if case .text(let text) = $0 { text } else { nil } })
    case .integer: return .optionalIntegers(try all { if case .integer(let integer) = $0 { integer } else { nil } })
    case .bytes: return .optionalByteStrings(try all { if case .blob(let bytes) = $0 { bytes } else { nil } })
    }
  }

  package func deleteUsers(in range: CopyRange) throws {
    let values = [PostgreSQLValue.text(range.start), .text(range.end)]
    var pipeline = PostgreSQLPipeline()
    for (table, column) in CopiedTable.columnsOfUsersInPostgreSQL {
      let statement =
        deletes[table]
        ?? PostgreSQLStatement("DELETE FROM \(table) WHERE \(column) > $1::uuid AND \(column) <= $2::uuid")
      deletes[table] = statement
      pipeline.add(statement, values)
    }
    _ = try session.send(pipeline)
  }

  package func deleteAll(of table: CopiedTable) throws { try session.execute("DELETE FROM \(table.name)") }

  package func identity() throws -> StoreIdentity { try connection.copiedIdentity() }
  package func setIdentity(_ identity: StoreIdentity) throws { try connection.setCopiedIdentity(identity) }
  package func hasContents() throws -> Bool { try connection.hasContents() }

  // MARK: The mark of an unfinished copy

  package enum Marking: Sendable {
    case isMarked
    /// The store is the target of an unfinished copy of another store.
    case isOfAnotherSource
    case hasContents
  }

  /// Marks the store as the target of an unfinished copy of `source`, so that no server uses it. A store
  /// that must not be a target stays as it is.
  package func mark(_ source: String) throws -> Marking {
    var marking = Marking.isMarked
    try session.transaction {
      // No server prepares its start meanwhile.
      try connection.lock(Array("lockstep migrations".utf8))
      let isMarked = try connection.first(
        """
        SELECT 1 FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relname = 'unfinished_copy' AND relkind = 'r'
        """
      ) { _ in true }
      if isMarked != nil {
        let earlier = try connection.first("SELECT source FROM unfinished_copy") { try $0[0] as String }
        if earlier != source { marking = .isOfAnotherSource }
      } else if try connection.hasContents() {
        marking = .hasContents
      } else {
        try session.execute("CREATE TABLE unfinished_copy (source text NOT NULL)")
        try connection.run("INSERT INTO unfinished_copy (source) VALUES (?)", source)
      }
    }
    return marking
  }

  package func removeMark() throws {
    try session.transaction {
      // Later entries of the journal come after those of the source.
      try DatabaseTimeline.continueJournal(connection)
      try DeliveryRecords(connection: connection).continueNumbers()
      try session.execute("SET LOCAL synchronous_commit = on; DROP TABLE unfinished_copy")
    }
  }

  /// Updates the planner's statistics of the new rows.
  package func analyze() throws {
    for table in CopiedTable.ofUsers { try session.execute("ANALYZE \(table.name)") }
  }
}

extension SQLiteValue {
  /// About how many bytes the value has.
  var copiedBytes: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    case .null, .integer, .real: 8
    }
  }
}

extension StoreConnection {
  fileprivate func copiedIdentity() throws -> StoreIdentity {
    let found = try first("SELECT id, created_at, journal_end, shortest_password FROM store") { row in
      StoreIdentity(id: try row[0], createdAt: try row[1], journalEnd: try row[2], shortestPassword: try row[3])
    }
    guard let found else { throw CopyError.unreadable(table: "store") }
    return found
  }

  fileprivate func setCopiedIdentity(_ identity: StoreIdentity) throws {
    try run(
      "UPDATE store SET id = ?, created_at = ?, journal_end = ?, shortest_password = ?",
      identity.id,
      identity.createdAt,
      identity.journalEnd,
      identity.shortestPassword
    )
  }

  fileprivate func userCount() throws -> Int { try first("SELECT count(*) FROM users") { try $0[0] as Int } ?? 0 }

  fileprivate func hasContents() throws -> Bool {
    try first(
      """
      SELECT 1 WHERE EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM service_tokens)
        OR EXISTS (SELECT 1 FROM registered_defaults) OR EXISTS (SELECT 1 FROM webhooks)
      """
    ) { _ in true } ?? false
  }
}
