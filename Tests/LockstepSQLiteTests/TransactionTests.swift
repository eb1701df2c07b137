import LockstepSQLite
import Testing
import LockstepTestSupport

@Suite("Transactions", .timeLimit(.minutes(10)))
struct TransactionTests {
  private struct Refused: Error {}

  private let folder: TemporaryDirectory
  private let connection: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    connection = try SQLiteConnection(path: folder.file("t.db"), busyTimeout: .zero)
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
    let other = try SQLiteConnection(path: connection.path, access: .readOnly)
    #expect(try other.all("SELECT number FROM kept") { row in try row[0] as Int } == [1])
  }

  @Test("A body that throws is rolled back, and the connection stays usable")
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

  @Test("A transaction within a transaction throws, and the outer one can continue")
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

  @Test("A failed commit is rolled back, and the connection stays usable")
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

  @Test("A savepoint fails alone, and savepoints can be nested")
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

  @Test("A savepoint without a transaction throws")
  func savepointAlone() throws {
    let error = #expect(throws: SQLiteError.self) { try self.connection.savepoint { try self.insert(1) } }
    #expect(error?.kind == .rolledBack)
    #expect(try numbers == [])
  }

  @Test("A transaction that SQLite ended throws, and later statements of its body do not run")
  func endedUnderneath() throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.transaction {
        try self.insert(1)
        try self.connection.execute("ROLLBACK")
        // A caller that ignores the errors.
        _ = try? self.connection.savepoint { try self.insert(2) }
        _ = try? self.insert(3)
        try? self.connection.execute("INSERT INTO kept VALUES (4, NULL)")
      }
    }
    #expect(error?.kind == .rolledBack)
    #expect(error?.message == "no transaction is open any more: it has been rolled back")
    #expect(try numbers == [])
  }

  @Test("A full database rolls the transaction back, and works when there is room again")
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
        + "database or disk is full (code 13). The disk is full, or the database has reached its size "
        + "limit. The transaction was rolled back. Free some space and try again."
    )
    #expect(try numbers == [0])
    try connection.execute("PRAGMA max_page_count = 1000000")
    try connection.transaction { try insert(2, filler: 100_000) }
    #expect(try numbers == [0, 2])
  }

  @Test("A savepoint in a full database fails alone, or the whole transaction fails")
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

  @Test("Another connection's lock is an error after the busy timeout")
  func busy() throws {
    let other = try SQLiteConnection(path: connection.path)
    try other.transaction {
      let error = #expect(throws: SQLiteError.self) { try self.connection.transaction { try self.insert(1) } }
      #expect(error?.kind == .busy)
      #expect(
        error?.description
          == "SQLite could not run \"BEGIN IMMEDIATE\" on \(connection.path): database is locked (code 5). Another "
          + "connection or process has locked the database: wait for it or end it, and try again."
      )
    }
    try connection.transaction { try insert(1) }
    #expect(try numbers == [1])
  }
}
