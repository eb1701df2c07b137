import LockstepSQLite
import Testing
import LockstepTestSupport

@Suite("Transactions")
struct TransactionTests {
  private struct Refused: Error {}

  private let folder: TemporaryDirectory
  private let connection: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    connection = try SQLiteConnection(path: folder.file("t.db"), options: .init(busyTimeout: .zero))
    try connection.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, filler BLOB) STRICT")
  }

  private func insert(_ number: Int, filler: Int = 0) throws {
    try connection.run("INSERT INTO kept VALUES (?, zeroblob(?))", number, filler)
  }

  private var numbers: [Int] {
    get throws { try connection.all("SELECT number FROM kept ORDER BY number") { row in try row[0] as Int } }
  }

  @Test("A transaction returns what its body returns, and another connection sees what it wrote")
  func commit() throws {
    let result = try connection.transaction {
      try insert(1)
      return "done"
    }
    #expect(result == "done")
    let other = try SQLiteConnection(path: connection.path, options: .init(access: .readOnly))
    #expect(try other.all("SELECT number FROM kept") { row in try row[0] as Int } == [1])
  }

  @Test("A body that throws leaves nothing behind, and the connection goes on")
  func rollback() throws {
    #expect(throws: Refused.self) {
      try self.connection.transaction {
        try self.insert(1)
        throw Refused()
      }
    }
    #expect(!connection.isInTransaction)
    #expect(try numbers == [])
    try connection.transaction { try insert(2) }
    #expect(try numbers == [2])
  }

  @Test("A transaction within a transaction is refused, and the outer one can go on")
  func nested() throws {
    try connection.transaction {
      try insert(1)
      let error = #expect(throws: SQLiteError.self) { try self.connection.transaction {} }
      #expect(
        error?.description
          == "SQLite could not run \"BEGIN IMMEDIATE\" on \(connection.path): "
          + "a transaction is open already: use a savepoint within it (code 21)."
      )
    }
    #expect(try numbers == [1])
  }

  @Test("A commit that fails keeps nothing, and the connection goes on")
  func failingCommit() throws {
    try connection.execute(
      "CREATE TABLE later (number INTEGER REFERENCES kept (number) DEFERRABLE INITIALLY DEFERRED) STRICT"
    )
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.transaction {
        try self.insert(1)
        try self.connection.run("INSERT INTO later VALUES (99)")
      }
    }
    #expect(error?.kind == .constraint)
    #expect(error?.sql == "COMMIT")
    #expect(try numbers == [])
    try connection.transaction { try insert(2) }
    #expect(try numbers == [2])
  }

  @Test("A savepoint fails alone, savepoints nest")
  func savepoints() throws {
    try connection.transaction {
      try connection.savepoint { try insert(1) }
      do {
        try connection.savepoint {
          try insert(2)
          try connection.savepoint { try insert(3) }
          throw Refused()
        }
      } catch is Refused {}
      try connection.savepoint {
        try insert(4)
        // The same number again: this one fails, and only this one.
        _ = try? connection.savepoint { try insert(4) }
      }
    }
    #expect(try numbers == [1, 4])
  }

  @Test("A savepoint without a transaction is refused")
  func savepointAlone() throws {
    let error = #expect(throws: SQLiteError.self) { try self.connection.savepoint { try self.insert(1) } }
    #expect(error?.kind == .rolledBack)
    #expect(try numbers == [])
  }

  @Test("A transaction that ended under its body throws, and what follows is not written bit by bit")
  func endedUnderneath() throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.transaction {
        try self.insert(1)
        try self.connection.execute("ROLLBACK")
        // A caller that passes over the errors.
        _ = try? self.connection.savepoint { try self.insert(2) }
        _ = try? self.insert(3)
        try? self.connection.execute("INSERT INTO kept VALUES (4, NULL)")
      }
    }
    #expect(error?.kind == .rolledBack)
    #expect(error?.message == "no transaction is open any more: all of it has been undone")
    #expect(try numbers == [])
  }

  @Test("A full database refuses the transaction, keeps nothing of it, and goes on when there is room")
  func full() throws {
    try insert(0)
    let pages = try #require(try connection.first("PRAGMA page_count") { row in try row[0] as Int })
    try connection.execute("PRAGMA max_page_count = \(pages + 2)")
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.transaction {
        try self.insert(1)
        try self.insert(2, filler: 100_000)
      }
    }
    #expect(error?.kind == .full)
    #expect(
      error?.description
        == "SQLite could not run \"INSERT INTO kept VALUES (?, zeroblob(?))\" on \(connection.path): "
        + "database or disk is full (code 13). There is no room left on the disk, or the database has reached its own "
        + "limit; nothing of the transaction was kept. Free some space and try again."
    )
    #expect(try numbers == [0])
    try connection.execute("PRAGMA max_page_count = 1000000")
    try connection.transaction { try insert(2, filler: 100_000) }
    #expect(try numbers == [0, 2])
  }

  @Test("A savepoint that finds the database full spoils no other, or the whole transaction says so")
  func fullInSavepoint() throws {
    let pages = try #require(try connection.first("PRAGMA page_count") { row in try row[0] as Int })
    try connection.execute("PRAGMA max_page_count = \(pages + 2)")
    var failures = 0
    do {
      try connection.transaction {
        for (number, filler) in [(1, 0), (2, 100_000), (3, 0)] {
          do {
            try connection.savepoint { try insert(number, filler: filler) }
          } catch { failures += 1 }
        }
      }
      #expect(failures == 1)
      #expect(try numbers == [1, 3])
    } catch let error as SQLiteError {
      #expect(error.kind == .rolledBack)
      #expect(try numbers == [])
    }
  }

  @Test("A lock that another connection holds is an error that says so, once the busy timeout has passed")
  func busy() throws {
    let other = try SQLiteConnection(path: connection.path)
    try other.transaction {
      let error = #expect(throws: SQLiteError.self) { try self.connection.transaction { try self.insert(1) } }
      #expect(error?.kind == .busy)
      #expect(
        error?.description
          == "SQLite could not run \"BEGIN IMMEDIATE\" on \(connection.path): database is locked (code 5). Another "
          + "connection or process has locked the database: wait until it is done, or end it, and try again."
      )
    }
    try connection.transaction { try insert(1) }
    #expect(try numbers == [1])
  }
}
