import Testing
import LockstepTestSupport

@testable import LockstepSQLite

@Suite("Statements", .timeLimit(.minutes(10)))
struct StatementTests {
  private let folder: TemporaryDirectory
  private let connection: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    connection = try SQLiteConnection(path: folder.file("statements.db"))
    connection.statements = StatementCache(capacity: 3)
    try connection.execute("CREATE TABLE pairs (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT")
  }

  @Test("Rows come in the statement's order, each with its columns")
  func rows() throws {
    try connection.run("INSERT INTO pairs VALUES (?, ?), (?, ?)", "b", 2, "a", 1)
    let pairs = try connection.all("SELECT name, number FROM pairs ORDER BY name") { row in
      (try row[0] as String, try row[1] as Int)
    }
    #expect(pairs.map(\.0) == ["a", "b"])
    #expect(pairs.map(\.1) == [1, 2])
    #expect(try connection.first("SELECT 1 WHERE 0") { row in try row[0] as Int } == nil)
  }

  @Test("A write returns the number of changed rows, a read 0")
  func changes() throws {
    #expect(try connection.run("INSERT INTO pairs VALUES ('a', 1), ('b', 2)") == 2)
    #expect(try connection.run("SELECT * FROM pairs") == 0)
    #expect(try connection.run("UPDATE pairs SET number = 0 WHERE name = ?", "none") == 0)
  }

  @Test("A statement is compiled once for each literal")
  func reuse() throws {
    let before = connection.statements.compilations
    for number in 1...5 { try connection.run("INSERT INTO pairs VALUES (?, 0)", "\(number)") }
    #expect(connection.statements.compilations == before + 1)
  }

  @Test("A full cache evicts the least recently used statement")
  func eviction() throws {
    let statements: [StaticString] = ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4"]
    for index in [0, 1, 2, 0, 3] { try connection.run(statements[index]) }
    #expect(connection.statements.count == 3)
    let before = connection.statements.compilations
    for index in [0, 2, 3] { try connection.run(statements[index]) }
    #expect(connection.statements.compilations == before)
    try connection.run(statements[1])
    #expect(connection.statements.compilations == before + 1)
  }

  @Test("A statement that is evicted while it runs still works")
  func evicted() throws {
    let other = try SQLiteConnection(path: folder.file("statements.db"))
    other.statements = StatementCache(capacity: 1)
    let sums = try other.all("SELECT value + ? FROM json_each('[1, 2]')", 1) { row in
      try other.run("SELECT 'something else'")
      return try row[0] as Int
    }
    #expect(sums == [2, 3])
  }

  @Test("The same text can run within itself")
  func nested() throws {
    let sql: StaticString = "SELECT ?"
    let sum = try connection.first(sql, 1) { row in
      try row[0] as Int + (try self.connection.first(sql, 2) { inner in try inner[0] as Int } ?? 0)
    }
    #expect(sum == 3)
  }

  @Test("A closure that throws leaves no lock and no bound values")
  func throwingClosure() throws {
    struct Enough: Error {}
    try connection.run("INSERT INTO pairs VALUES ('a', 1), ('b', 2)")
    let sql: StaticString = "SELECT name FROM pairs WHERE number > ?"
    #expect(throws: Enough.self) { try self.connection.forEach(sql, 0) { _ in throw Enough() } }
    #expect(try !connection.prepare(sql).isRunning)
    // An open reader would forbid this.
    try connection.execute("DROP TABLE pairs")
  }

  @Test("Too many and too few values are errors, never a silent NULL")
  func numberOfValues() throws {
    let few = #expect(throws: SQLiteError.self) { try self.connection.run("INSERT INTO pairs VALUES (?, ?)", "a") }
    #expect(few?.message == "1 values for 2 parameters")
    let many = #expect(throws: SQLiteError.self) { try self.connection.run("SELECT ?", 1, 2) }
    #expect(many?.message == "more values than the statement's 1 parameters")
    #expect(many?.kind == .misuse)
  }

  @Test("Text that is not exactly one statement is an error")
  func oneStatement() throws {
    let two = #expect(throws: SQLiteError.self) { try self.connection.run("SELECT 1; SELECT 2") }
    #expect(two?.message == "there is more than one statement in the SQL")
    for none in ["", " ", "-- nothing", ";"] as [StaticString] {
      let error = #expect(throws: SQLiteError.self) { try self.connection.run(none) }
      #expect(error?.message == "there is no statement in the SQL")
    }
    try connection.run("SELECT 1;\n")
  }

  @Test("A script runs up to the first failed statement, and the error has its text")
  func script() throws {
    let error = #expect(throws: SQLiteError.self) {
      try self.connection.execute(
        """
        -- Two fit.
        INSERT INTO pairs VALUES ('a', 1); INSERT INTO pairs VALUES ('b', 2);
        -- This one doesn't.
        INSERT INTO pairs VALUES ('c', 'three');
        INSERT INTO pairs VALUES ('d', 4);
        """
      )
    }
    #expect(
      error?.description
        == "SQLite could not run \"INSERT INTO pairs VALUES ('c', 'three');\" on \(folder.file("statements.db")): "
        + "cannot store TEXT value in INTEGER column pairs.number (code 3091)."
    )
    #expect(try connection.all("SELECT name FROM pairs") { row in try row[0] as String } == ["a", "b"])
  }

  @Test("A script with a NUL character is an error, because SQLite would ignore the rest")
  func scriptWithNUL() throws {
    let error = #expect(throws: SQLiteError.self) { try self.connection.execute("SELECT 1;\0DROP TABLE pairs") }
    #expect(error?.message == "the SQL contains a NUL character, after which SQLite reads nothing")
    try connection.execute("")
    try connection.execute(" -- nothing to do\n")
  }

  @Test("A name in double quotes that does not exist is an error, not a string")
  func doubleQuotes() throws {
    let error = #expect(throws: SQLiteError.self) { try self.connection.run("SELECT \"nmae\" FROM pairs") }
    #expect(error?.message == "no such column: nmae")
    #expect(error?.kind == .other)
  }
}
