/// A connection's compiled statements, keyed by the address of their literal. The least recently
/// used is evicted.
struct StatementCache {
  /// A literal is in constant memory, so its address and length identify its text without hashing
  /// it.
  private struct Key: Hashable {
    let address: Int
    let length: Int

    init(_ sql: StaticString) {
      address = Int(bitPattern: sql.utf8Start)
      length = sql.utf8CodeUnitCount
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

  /// Returns a statement that is not running. If the cached one is, compiles another that is not
  /// cached.
  mutating func statement(_ sql: StaticString, database: DatabaseHandle) throws(SQLiteError) -> SQLiteStatement {
    // A literal of a single character has no address, and is not valid SQL.
    guard sql.hasPointerRepresentation else { return try compile(sql, database) }
    let key = Key(sql)
    uses &+= 1
    if let known = statements[key] {
      if known.isRunning { return try compile(sql, database) }
      known.lastUse = uses
      return known
    }
    let new = try compile(sql, database)
    if statements.count >= capacity { removeLeastRecentlyUsed() }
    new.lastUse = uses
    statements[key] = new
    return new
  }

  private mutating func compile(_ sql: StaticString, _ database: DatabaseHandle) throws(SQLiteError) -> SQLiteStatement
  {
    compilations += 1
    return try SQLiteStatement(sql.description, database: database)
  }

  private mutating func removeLeastRecentlyUsed() {
    guard let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
    statements[oldest.key] = nil
  }
}
