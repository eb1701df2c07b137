import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLite
import LockstepSQLiteStore

/// A connection to the store, for one unit of the writer or for one read.
///
/// SQL is written as literals, and values are bound to parameters.
// The methods are inlinable, because generic ones look up metadata for each call.
package enum StoreConnection {
  case sqlite(SQLiteConnection)
  case postgreSQL(PostgreSQLSession)

  /// Runs the statement and ignores its rows. Returns the number of rows that an `INSERT`, `UPDATE`
  /// or `DELETE` changed.
  @discardableResult
  @inlinable
  package func run<each Value: SQLiteConvertible>(_ sql: StoreSQL, _ values: repeat each Value) throws -> Int {
    switch self {
    case .sqlite(let connection): return try connection.run(sql.sqlite, repeat each values)
    case .postgreSQL(let session):
      var list: [SQLiteValue] = []
      for value in repeat each values { list.append(value.sqliteValue) }
      return try session.run(sql, list)
    }
  }

  /// Runs the statement and passes each row to `body`.
  @inlinable
  package func forEach<each Value: SQLiteConvertible>(
    _ sql: StoreSQL,
    _ values: repeat each Value,
    body: (borrowing StoreRow) throws -> Void
  ) throws {
    try forEachRow(sql, repeat each values) { row in
      try body(row)
      return true
    }
  }

  /// Runs the statement and passes its rows to `body`, as long as `body` returns true.
  @inlinable
  package func forEachRow<each Value: SQLiteConvertible>(
    _ sql: StoreSQL,
    _ values: repeat each Value,
    while body: (borrowing StoreRow) throws -> Bool
  ) throws {
    switch self {
    case .sqlite(let connection):
      try connection.forEachOwnedRow(sql.sqlite, repeat each values) { row in try body(.sqlite(row)) }
    case .postgreSQL(let session):
      var list: [SQLiteValue] = []
      for value in repeat each values { list.append(value.sqliteValue) }
      try session.forEachRow(sql, list) { row in try body(.postgreSQL(row)) }
    }
  }

  /// Runs statements that read a user, and passes each row to `body`, with the index of its statement. In
  /// PostgreSQL, all statements take one round trip.
  func forEach(
    _ statements: [StoreSQL],
    of user: UserID,
    body: (_ index: Int, _ row: borrowing StoreRow) throws -> Void
  ) throws {
    switch self {
    case .sqlite(let connection):
      for (index, sql) in statements.enumerated() {
        try connection.forEachOwnedRow(sql.sqlite, user) { row in
          try body(index, .sqlite(row))
          return true
        }
      }
    case .postgreSQL(let session):
      var pipeline = PostgreSQLPipeline()
      let places = statements.map { pipeline.add(session.statement($0), [.uuid(user.value)]) }
      let results = try session.send(pipeline)
      for (index, place) in places.enumerated() {
        for row in 0..<results[place].rowCount {
          try body(index, .postgreSQL(PostgreSQLStoreRow(result: results[place], index: row)))
        }
      }
    }
  }

  /// Runs the statement and returns its rows, transformed and in order.
  @inlinable
  package func all<Result, each Value: SQLiteConvertible>(
    _ sql: StoreSQL,
    _ values: repeat each Value,
    transform: (borrowing StoreRow) throws -> Result
  ) throws -> [Result] {
    var results: [Result] = []
    try forEach(sql, repeat each values) { row in results.append(try transform(row)) }
    return results
  }

  /// Runs the statement up to its first row. Returns the row, transformed, or nil if there is none.
  @inlinable
  package func first<Result, each Value: SQLiteConvertible>(
    _ sql: StoreSQL,
    _ values: repeat each Value,
    transform: (borrowing StoreRow) throws -> Result
  ) throws -> Result? {
    var result: Result?
    try forEachRow(sql, repeat each values) { row in
      result = try transform(row)
      return false
    }
    return result
  }

  /// After the transaction, erases what it has deleted from the files of the store. PostgreSQL has its
  /// own ways: see docs/fleet.md.
  package func eraseDeleted() {
    switch self {
    case .sqlite(let connection): connection.eraseWAL()
    case .postgreSQL: break
    }
  }

  /// Locks a user until the end of the transaction. Other nodes then change neither the user's state
  /// nor the user's account. Returns whether the user exists. Call this before anything else of the user
  /// is read. In SQLite, a writer is alone anyway.
  @discardableResult
  package func lock(_ user: UserID) throws -> Bool {
    switch self {
    case .sqlite: return try UserRecords(connection: self).has(user)
    case .postgreSQL:
      try forEach("SELECT 1 FROM pg_advisory_xact_lock(?::bigint)", user.lockNumber) { _ in }
      return try first("SELECT 1 FROM heads WHERE user_id = ?", user) { _ in true } ?? false
    }
  }

  /// Locks a name that all nodes know until the end of the transaction.
  package func lock(_ name: [UInt8]) throws {
    switch self {
    case .sqlite: break
    case .postgreSQL:
      try forEach(
        "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(coalesce(current_schema(), ''), ?::bigint))",
        NamedLock.seed(of: name)
      ) { _ in }
    }
  }

  /// Shares a lock that `lock` takes, until the end of the transaction.
  func share(_ name: [UInt8]) throws {
    switch self {
    case .sqlite: break
    case .postgreSQL:
      try forEach(
        "SELECT 1 FROM pg_advisory_xact_lock_shared(hashtextextended(coalesce(current_schema(), ''), ?::bigint))",
        NamedLock.seed(of: name)
      ) { _ in }
    }
  }

  /// Runs `body`, which only reads, on one state of the store.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    switch self {
    case .sqlite(let connection): try connection.snapshot(body)
    case .postgreSQL(let session): try session.snapshot(body)
    }
  }
}

/// The current row of a statement, borrowed by the closure that reads it.
package enum StoreRow: ~Copyable {
  case sqlite(SQLiteRow)
  case postgreSQL(PostgreSQLStoreRow)

  /// The value of a column, counted from 0. Throws if the column has another type.
  @inlinable package subscript<Value: SQLiteConvertible>(column: Int) -> Value {
    // Swift 6.3.1 crashes when it optimizes a function into which several of these are inlined.
    @inline(never) get throws {
      switch self {
      case .sqlite(let row): try row[column]
      case .postgreSQL(let row): try row.value(at: column)
      }
    }
  }

  package func integer(at column: Int) throws -> Int {
    switch self {
    case .sqlite(let row): try row.integer(at: column)
    case .postgreSQL(let row): try row.row.integer(at: column)
    }
  }

  /// Whether a column holds a text of these bytes.
  func hasText(_ expected: [UInt8], at column: Int) throws -> Bool {
    switch self {
    case .sqlite(let row): try row.hasText(expected, at: column)
    case .postgreSQL(let row): try row.row.withBytes(at: column) { $0.hasBytes(expected) }
    }
  }

  /// Passes the bytes of two texts to `body`, without a copy.
  func withTexts(at first: Int, _ second: Int, _ body: (Span<UInt8>, Span<UInt8>) throws -> Void) throws {
    switch self {
    case .sqlite(let row): try row.withTexts(at: first, second, body)
    case .postgreSQL(let row):
      let row = row.row
      try row.withBytes(at: first) { first in try row.withBytes(at: second) { second in try body(first, second) } }
    }
  }
}

extension Span<UInt8> {
  fileprivate func hasBytes(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count else { return false }
    for index in indices where self[index] != bytes[index] { return false }
    return true
  }
}
