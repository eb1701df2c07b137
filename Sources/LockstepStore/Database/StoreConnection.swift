import LockstepSQLite

/// A connection to the store, for one unit of the writer or for one read.
///
/// SQL is written as literals, and values are bound to parameters.
// The methods are inlinable, because generic ones look up metadata for each call.
package enum StoreConnection {
  case sqlite(SQLiteConnection)

  /// Runs the statement and ignores its rows. Returns the number of rows that an `INSERT`, `UPDATE`
  /// or `DELETE` changed.
  @discardableResult
  @inlinable
  package func run<each Value: SQLiteConvertible>(_ sql: StaticString, _ values: repeat each Value) throws -> Int {
    switch self {
    case .sqlite(let connection): try connection.run(sql, repeat each values)
    }
  }

  /// Runs the statement and passes each row to `body`.
  @inlinable
  package func forEach<each Value: SQLiteConvertible>(
    _ sql: StaticString,
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
    _ sql: StaticString,
    _ values: repeat each Value,
    while body: (borrowing StoreRow) throws -> Bool
  ) throws {
    switch self {
    case .sqlite(let connection):
      try connection.forEachOwnedRow(sql, repeat each values) { row in try body(.sqlite(row)) }
    }
  }

  /// Runs the statement and returns its rows, transformed and in order.
  @inlinable
  package func all<Result, each Value: SQLiteConvertible>(
    _ sql: StaticString,
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
    _ sql: StaticString,
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

  /// After the transaction, erases what it has deleted from the files of the store.
  package func eraseDeleted() {
    switch self {
    case .sqlite(let connection): connection.eraseWAL()
    }
  }

  /// Runs `body`, which only reads, on one state of the store.
  package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    switch self {
    case .sqlite(let connection): try connection.snapshot(body)
    }
  }
}

/// The current row of a statement, borrowed by the closure that reads it.
package enum StoreRow: ~Copyable {
  case sqlite(SQLiteRow)

  /// The value of a column, counted from 0. Throws if the column has another type.
  @inlinable package subscript<Value: SQLiteConvertible>(column: Int) -> Value {
    get throws {
      switch self {
      case .sqlite(let row): try row[column]
      }
    }
  }

  package func integer(at column: Int) throws -> Int {
    switch self {
    case .sqlite(let row): try row.integer(at: column)
    }
  }
}
