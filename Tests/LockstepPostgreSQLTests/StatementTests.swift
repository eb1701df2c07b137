import Glibc
import LockstepPostgreSQL
import LockstepThreading
import Testing

@Suite("Statements", .timeLimit(.minutes(10)), .enabled(if: TestServer.isAvailable, TestServer.reason))
struct StatementTests {
  private let connection: PostgreSQLConnection

  init() throws {
    connection = try TestServer.connect()
    try connection.execute("CREATE TEMPORARY TABLE kept (number int8 PRIMARY KEY, name text)")
  }

  private static let insert = PostgreSQLStatement("INSERT INTO kept (number, name) VALUES ($1, $2)")
  private static let numbers = PostgreSQLStatement("SELECT number FROM kept ORDER BY number")
  private static let preparedNames = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"

  private func numbers() throws -> [Int] {
    var numbers: [Int] = []
    try connection.forEachRow(Self.numbers) { row in
      numbers.append(try row.integer(at: 0))
      return true
    }
    return numbers
  }

  @Test("A statement reports how many rows it changed")
  func changedRows() throws {
    #expect(try connection.run(Self.insert, [.integer(1), .text("a")]) == 1)
    #expect(try connection.run(PostgreSQLStatement("INSERT INTO kept SELECT generate_series(2, 10)")) == 9)
    #expect(try connection.run(PostgreSQLStatement("UPDATE kept SET name = 'b' WHERE number > 5")) == 5)
    #expect(try connection.run(PostgreSQLStatement("DELETE FROM kept WHERE number = 99")) == 0)
    #expect(try connection.run(PostgreSQLStatement("BEGIN")) == 0)
    #expect(connection.isInTransaction)
    try connection.execute("ROLLBACK")
    #expect(!connection.isInTransaction)
  }

  @Test("A statement is prepared once for each connection")
  func preparedOnce() throws {
    for number in 1...5 { try connection.run(Self.insert, [.integer(Int64(number)), .null]) }
    #expect(try connection.values(Self.preparedNames, [.text(Self.insert.sql)]) == [.integer(1)])
    let other = try TestServer.connect()
    #expect(try other.values(Self.preparedNames, [.text(Self.insert.sql)]) == [.integer(0)])
  }

  @Test("A result calls the body for each row in order, until the body needs no more")
  func rows() throws {
    let result = try connection.query(PostgreSQLStatement("SELECT generate_series(1, 5), 'x'"))
    #expect(result.rowCount == 5)
    #expect(result.columnCount == 2)
    var sum = 0
    try result.forEach { row in sum += try row.integer(at: 0) }
    #expect(sum == 15)
    var seen: [Int] = []
    try connection.forEachRow(PostgreSQLStatement("SELECT generate_series(1, 100)")) { row in
      seen.append(try row.integer(at: 0))
      // The body may use the connection.
      try connection.execute("SELECT 1")
      return seen.count < 3
    }
    #expect(seen == [1, 2, 3])
    #expect(try numbers().isEmpty)
  }

  @Test("A prepared statement still runs after the columns of its table changed")
  func changedColumns() throws {
    let statement = PostgreSQLStatement("SELECT * FROM kept")
    #expect(try connection.query(statement).columnCount == 2)
    try connection.execute("ALTER TABLE kept ADD COLUMN more text")
    #expect(postgreSQLError { _ = try connection.query(statement) }?.sqlState == "0A000")
    #expect(try connection.query(statement).columnCount == 3)
  }

  @Test("A statement is prepared again after the server has dropped it")
  func dropped() throws {
    try connection.run(Self.insert, [.integer(1), .null])
    try connection.execute("DEALLOCATE ALL")
    #expect(postgreSQLError { try connection.run(Self.insert, [.integer(2), .null]) }?.sqlState == "26000")
    #expect(try connection.run(Self.insert, [.integer(2), .null]) == 1)
  }

  @Test("A script runs all of its statements, and stops at a failure")
  func script() throws {
    try connection.execute("INSERT INTO kept VALUES (1); SELECT 1; INSERT INTO kept VALUES (2)")
    #expect(try numbers() == [1, 2])
    let error = postgreSQLError {
      try connection.execute("BEGIN; INSERT INTO kept VALUES (3); COMMIT; SELECT 1/0; INSERT INTO kept VALUES (4)")
    }
    #expect(
      error?.description == """
        PostgreSQL could not run "BEGIN; INSERT INTO kept VALUES (3); COMMIT; SELECT 1/0; INSERT INTO kept VALUES (4)": \
        division by zero (SQLSTATE 22012).
        """
    )
    #expect(try numbers() == [1, 2, 3])
    try connection.execute("")
  }

  @Test(
    "A COPY from the client is refused, and ends the connection",
    arguments: ["COPY kept FROM STDIN", "COPY kept TO STDOUT"]
  )
  func copy(sql: String) throws {
    #expect(postgreSQLError { try connection.execute(sql) }?.message == "COPY from or to the client is not supported")
    #expect(connection.isBroken)
    let other = try TestServer.connect()
    try other.execute("CREATE TEMPORARY TABLE kept (number int8)")
    #expect(throws: PostgreSQLError.self) { try other.run(PostgreSQLStatement(sql)) }
    #expect(other.isBroken)
  }

  // MARK: - Pipelines

  @Test("A pipeline returns its results in order, and prepares each statement once")
  func pipeline() throws {
    var pipeline = PostgreSQLPipeline()
    #expect(pipeline.isEmpty)
    pipeline.add(PostgreSQLStatement("BEGIN"))
    for number in 1...3 { pipeline.add(Self.insert, [.integer(Int64(number)), .text("n\(number)")]) }
    let index = pipeline.add(Self.numbers)
    pipeline.add(PostgreSQLStatement("COMMIT"))
    #expect(pipeline.count == 6)
    #expect(index == 4)
    let results = try connection.send(pipeline)
    #expect(results.map(\.changedRows) == [0, 1, 1, 1, 3, 0])
    #expect(results.map(\.rowCount) == [0, 0, 0, 0, 3, 0])
    #expect(try results[index].row(2).integer(at: 0) == 3)
    #expect(try connection.values(Self.preparedNames, [.text(Self.insert.sql)]) == [.integer(1)])
    #expect(!connection.isInTransaction)
    #expect(try connection.send(PostgreSQLPipeline()).isEmpty)
  }

  @Test("A pipeline without BEGIN is one transaction")
  func implicitTransaction() throws {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.insert, [.integer(1), .null])
    pipeline.add(Self.insert, [.integer(1), .null])
    #expect(postgreSQLError { _ = try connection.send(pipeline) }?.statementIndex == 1)
    #expect(try numbers().isEmpty)
  }

  @Test("An error quotes its statement on one line, without comments")
  func errorWithComments() {
    let script = """
      -- The first table.
      SELECT * -- All columns.
        -- There is no such table.
        FROM nowhere
      """
    let error = postgreSQLError { try connection.execute(script) }
    #expect(
      error?.description
        == #"PostgreSQL could not run "SELECT * FROM nowhere": relation "nowhere" does not exist (SQLSTATE 42P01)."#
    )
  }

  @Test("An error in a pipeline names its statement, and the connection stays usable")
  func errorInPipeline() throws {
    let later = PostgreSQLStatement("SELECT 'later'")
    let wrong = PostgreSQLStatement("SELECT * FROM nowhere")
    func send() throws -> [PostgreSQLResult] {
      var pipeline = PostgreSQLPipeline()
      pipeline.add(PostgreSQLStatement("BEGIN"))
      pipeline.add(Self.insert, [.integer(1), .null])
      pipeline.add(wrong)
      pipeline.add(later)
      pipeline.add(PostgreSQLStatement("COMMIT"))
      return try connection.send(pipeline)
    }
    for _ in 1...2 {
      let error = postgreSQLError { _ = try send() }
      #expect(error?.kind == .undefinedTable)
      #expect(error?.statementIndex == 2)
      #expect(
        error?.description
          == #"PostgreSQL could not run "SELECT * FROM nowhere": relation "nowhere" does not exist (SQLSTATE 42P01)."#
      )
      #expect(connection.isInTransaction)
      #expect(!connection.isBroken)
      try connection.execute("ROLLBACK")
    }
    #expect(try numbers().isEmpty)
    // The failure came before these were prepared, so they are prepared now.
    #expect(try connection.query(later).row(0).text(at: 0) == "later")
    try connection.execute("CREATE TEMPORARY TABLE nowhere (a int8)")
    #expect(try send().count == 5)
    #expect(try numbers() == [1])
  }

  @Test("A deferred constraint fails at the end of a pipeline")
  func deferredConstraint() throws {
    try connection.execute("CREATE TEMPORARY TABLE parts (of int8 REFERENCES kept DEFERRABLE INITIALLY DEFERRED)")
    let insert = PostgreSQLStatement("INSERT INTO parts VALUES ($1)")
    for _ in 1...2 {
      let error = postgreSQLError { try connection.run(insert, [.integer(1)]) }
      #expect(error?.sqlState == "23503")
      #expect(!connection.isInTransaction)
      #expect(!connection.isBroken)
    }
    try connection.run(Self.insert, [.integer(1), .null])
    #expect(try connection.run(insert, [.integer(1)]) == 1)
    #expect(try connection.column("SELECT of FROM parts") == [.integer(1)])
  }

  @Test("A pipeline that fills all buffers in both directions ends")
  func largePipeline() throws {
    let echo = PostgreSQLStatement("SELECT $1::int8, $2::bytea, repeat('x', 600)")
    let bytes = [UInt8](repeating: 7, count: 600)
    for _ in 1...2 {
      var pipeline = PostgreSQLPipeline()
      for number in 0..<2_000 { pipeline.add(echo, [.integer(Int64(number)), .bytes(bytes)]) }
      let results = try connection.send(pipeline)
      #expect(results.count == 2_000)
      for (number, result) in results.enumerated() {
        #expect(try result.row(0).integer(at: 0) == number)
        #expect(try result.row(0).withBytes(at: 1) { $0.count } == 600)
      }
    }
    // Few statements with much data, far more than the buffers of a socket hold.
    var pipeline = PostgreSQLPipeline()
    let many = [UInt8](repeating: 9, count: 8 << 20)
    for number in 0..<4 { pipeline.add(echo, [.integer(Int64(number)), .bytes(many)]) }
    let results = try connection.send(pipeline)
    #expect(try results.allSatisfy { try $0.row(0).withBytes(at: 1) { $0.count } == 8 << 20 })
  }

  // MARK: - Errors of statements

  @Test("Errors have a kind by their SQLSTATE")
  func kinds() throws {
    func kind(_ sql: String) -> PostgreSQLError.Kind? {
      defer { try? connection.execute("ROLLBACK") }
      return postgreSQLError { try connection.execute(sql) }?.kind
    }
    #expect(kind("SELECT no_function()") == .undefinedFunction)
    #expect(kind("SELECT * FROM no_table") == .undefinedTable)
    #expect(kind("SELECT 1 +") == .other)
    #expect(kind("SET statement_timeout = 20; SELECT pg_sleep(60)") == .canceled)
    try connection.execute("SET statement_timeout = 0")
    let states: [(String, PostgreSQLError.Kind)] = [
      ("40001", .serialization), ("40P01", .deadlock), ("55P03", .lockTimeout), ("53100", .diskFull),
      ("42501", .insufficientPrivilege), ("53300", .tooManyConnections), ("25006", .readOnly), ("P0001", .other),
    ]
    for (state, expected) in states {
      #expect(kind("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '\(state)'; END $$") == expected)
    }
  }

  @Test("A violated constraint is named, and the row's values are not in the description")
  func uniqueViolation() throws {
    try connection.run(Self.insert, [.integer(777), .null])
    let error = postgreSQLError { try connection.run(Self.insert, [.integer(777), .null]) }
    #expect(error?.kind == .uniqueViolation)
    #expect(error?.constraint == "kept_pkey")
    #expect(error?.detail?.contains("777") == true)
    #expect(error?.description.contains("777") == false)
    #expect(error?.statementIndex == 0)
  }

  @Test("A read-only transaction refuses to write")
  func readOnly() throws {
    try connection.execute("CREATE TABLE IF NOT EXISTS read_only_test (a int8)")
    let reader = try TestServer.connect()
    try reader.set([.init("default_transaction_read_only", "on"), .init("search_path", "it's, \"public\"")])
    let error = postgreSQLError { try reader.execute("INSERT INTO read_only_test VALUES (1)") }
    #expect(error?.kind == .readOnly)
    #expect(error?.description.contains("connect to the primary") == true)
    let refused = postgreSQLError {
      _ = try TestServer.connect(
        adding: "options='-c default_transaction_read_only=on' target_session_attrs=read-write"
      )
    }
    #expect(refused?.kind == .readOnly)
    // The advice must not be what the connection string has already.
    #expect(refused?.description.contains("target_session_attrs") == false, "\(refused?.description ?? "")")
    #expect(refused?.description.contains("name the primary too") == true)
    try connection.execute("DROP TABLE read_only_test")
  }

  @Test("Two connections that wait for each other get a deadlock")
  func deadlock() throws {
    let script = "SET deadlock_timeout = 50; BEGIN; SELECT pg_advisory_xact_lock"
    try connection.execute("\(script)(4711)")
    let hasLock = LockedState(false)
    let otherKind = LockedState<PostgreSQLError.Kind?>(nil)
    let other = try NamedThread(name: "deadlock") {
      do {
        defer { hasLock.withLock { $0 = true } }
        let other = try TestServer.connect()
        try other.execute("\(script)(4712)")
        hasLock.withLock { $0 = true }
        try other.execute("SELECT pg_advisory_xact_lock(4711)")
      } catch {
        otherKind.withLock { $0 = (error as? PostgreSQLError)?.kind }
      }
    }
    while hasLock.withLock({ !$0 }) { usleep(1_000) }
    var kind: PostgreSQLError.Kind?
    do {
      try connection.execute("SELECT pg_advisory_xact_lock(4712)")
    } catch {
      kind = error.kind
      #expect(error.isTransient)
    }
    try connection.execute("ROLLBACK")
    other.join()
    // PostgreSQL ends one of the two.
    #expect([kind, otherKind.withLock { $0 }].compactMap { $0 } == [.deadlock])
  }
}
