/// A connection's compiled statements, found by the address of their literal; the one not used for longest makes room.
struct StatementCache {
  /// A literal lies in the program's own constant memory and is never freed or changed, so that its address and length
  /// stand for its text: nothing needs to be hashed or compared.
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
  /// How many statements had to be compiled.
  private(set) var compilations = 0

  init(capacity: Int) {
    self.capacity = max(1, capacity)
    statements.reserveCapacity(self.capacity)
  }

  var count: Int { statements.count }

  /// The statement of this text. One that is running is left alone: its caller gets a second one, which isn't kept.
  mutating func statement(_ sql: StaticString, database: DatabaseHandle) throws(SQLiteError) -> SQLiteStatement {
    // A literal of a single character has no address. No such text is SQL, so let SQLite say so.
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
