/// SQL that is made at run time. Reuse the object, because a connection caches the compiled
/// statement for it. The text must not come from outside.
package final class SQLText: Sendable {
  let text: String

  package init(_ text: String) { self.text = text }
}

/// A connection's compiled statements. The least recently used one is evicted.
struct StatementCache {
  /// Identifies SQL by its address in memory, so that the text need not be hashed. Addresses are
  /// not reused: a literal is in constant memory, and a statement keeps its `SQLText`.
  private struct Key: Hashable {
    let address: Int
    let length: Int

    init(_ sql: StaticString) {
      address = Int(bitPattern: sql.utf8Start)
      length = sql.utf8CodeUnitCount
    }

    init(_ sql: SQLText) {
      address = Int(bitPattern: ObjectIdentifier(sql))
      // No literal has this length.
      length = -1
    }
  }

  private let capacity: Int
  private var statements: [Key: SQLiteStatement] = [:]
  private var uses: UInt64 = 0
  private(set) var compilations = 0

  init(capacity: Int) {
    self.capacity = max(1, capacity)
    statements.reserveCapacity(self.capacity)
  }

  var count: Int { statements.count }

  /// Returns a statement that is not running. If the cached one is running, this compiles another
  /// one, which is not cached.
  mutating func statement(_ sql: StaticString, database: DatabaseHandle) throws(SQLiteError) -> SQLiteStatement {
    let compile = { () throws(SQLiteError) in try SQLiteStatement(sql.description, database: database) }
    // A literal of a single character has no address, and is not valid SQL.
    guard sql.hasPointerRepresentation else { return try compile() }
    return try statement(Key(sql), compile)
  }

  /// The same for SQL made at run time.
  mutating func statement(_ sql: SQLText, database: DatabaseHandle) throws(SQLiteError) -> SQLiteStatement {
    try statement(Key(sql)) { () throws(SQLiteError) in
      try SQLiteStatement(sql.text, database: database, owner: sql)
    }
  }

  private mutating func statement(
    _ key: Key,
    _ compile: () throws(SQLiteError) -> SQLiteStatement
  ) throws(SQLiteError) -> SQLiteStatement {
    uses &+= 1
    let known = statements[key]
    if let known, !known.isRunning {
      known.lastUse = uses
      return known
    }
    compilations += 1
    let new = try compile()
    guard known == nil else { return new }
    if statements.count >= capacity { removeLeastRecentlyUsed() }
    new.lastUse = uses
    statements[key] = new
    return new
  }

  private mutating func removeLeastRecentlyUsed() {
    guard let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    statements[oldest.key] = nil
  }
}
