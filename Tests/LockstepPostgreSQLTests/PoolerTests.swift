import Testing

@testable import LockstepPostgreSQL

@Suite(
  "Connections through a pooler",
  .timeLimit(.minutes(10)),
  .enabled(if: TestServer.isAvailable, TestServer.reason)
)
struct PoolerTests {
  private let connection: PostgreSQLConnection

  /// Makes a direct connection that behaves as if it went through a pooler. All of its
  /// transactions have the same connection to the server, so anything that outlives a transaction shows.
  init() throws {
    var options = TestServer.options
    options.assumesPooler = true
    connection = try TestServer.connect(with: options)
    try connection.execute("CREATE TEMPORARY TABLE kept (number int8 PRIMARY KEY)")
    try connection.set([.init("lock_timeout", "1234ms"), .init("search_path", "\"it's\"")])
  }

  private static let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
  private static let settings = PostgreSQLStatement(
    "SELECT current_setting('lock_timeout'), current_setting('search_path')"
  )
  private static let insert = PostgreSQLStatement("INSERT INTO kept VALUES ($1)")
  private static let fail = PostgreSQLStatement("SELECT $1::text::int")

  private func settings() throws -> [String] {
    let row = try connection.query(Self.settings).row(0)
    return [try row.text(at: 0), try row.text(at: 1)]
  }

  /// The settings of a statement that is sent alone.
  private func directSettings() throws -> [String] {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.settings)
    let row = try connection.sendUnchanged(pipeline, prepares: false)[0].row(0)
    return [try row.text(at: 0), try row.text(at: 1)]
  }

  private func pipeline(_ statements: (PostgreSQLStatement, [PostgreSQLValue])...) -> PostgreSQLPipeline {
    var pipeline = PostgreSQLPipeline()
    for (statement, values) in statements { pipeline.add(statement, values) }
    return pipeline
  }

  @Test("A direct connection is not taken for one through a pooler")
  func direct() throws {
    let direct = try TestServer.connect()
    #expect(!direct.isPooled)
    #expect(!direct.isStandby)
    #expect(connection.isPooled)
  }

  @Test("Settings hold in each transaction and no longer")
  func settingsOfTransactions() throws {
    let defaults = try directSettings()
    #expect(defaults != ["1234ms", "\"it's\""])
    // A transaction of one round trip.
    #expect(try settings() == ["1234ms", "\"it's\""])
    #expect(try directSettings() == defaults)
    // A transaction of several ones.
    try connection.run(Self.begin)
    #expect(try directSettings() == ["1234ms", "\"it's\""])
    #expect(try settings() == ["1234ms", "\"it's\""])
    try connection.execute("SET LOCAL lock_timeout = '5ms'")
    #expect(try settings() == ["5ms", "\"it's\""])
    try connection.run(PostgreSQLConnection.commit)
    #expect(try directSettings() == defaults)
    // A script.
    try connection.execute(
      "CREATE TEMPORARY TABLE found AS SELECT current_setting('lock_timeout') AS name"
    )
    #expect(try connection.column("SELECT name FROM found") == [.text("1234ms")])
    #expect(try directSettings() == defaults)
  }

  @Test("A setting that the server does not know is refused at once")
  func unknownSetting() {
    #expect(postgreSQLError { try connection.set([.init("no_such_setting", "1")]) }?.sqlState == "42704")
  }

  @Test("A commit waits for the disk, whatever the default", arguments: ["off", "local", "on", "remote_apply"])
  func durable(level: String) throws {
    try connection.set([.durableCommits])
    // As a setting of the role.
    var pipeline = PostgreSQLPipeline()
    pipeline.add(PostgreSQLStatement("SELECT set_config('synchronous_commit', $1, false)"), [.text(level)])
    _ = try connection.sendUnchanged(pipeline, prepares: false)
    let expected = level == "remote_apply" ? level : "on"
    #expect(try connection.values("SELECT current_setting('synchronous_commit')") == [.text(expected)])
    let direct = try TestServer.connect()
    _ = try direct.values("SELECT set_config('synchronous_commit', $1, false)", [.text(level)])
    try direct.set([.durableCommits])
    #expect(try direct.values("SELECT current_setting('synchronous_commit')") == [.text(expected)])
  }

  @Test("No statement is prepared")
  func nothingPrepared() throws {
    for number in Int64(1)...3 { try connection.run(Self.insert, [.integer(number)]) }
    _ = try connection.send(pipeline((Self.begin, []), (Self.settings, []), (PostgreSQLConnection.commit, [])))
    #expect(try connection.column("SELECT name FROM pg_prepared_statements").isEmpty)
  }

  @Test("A pipeline returns the results of its own statements")
  func results() throws {
    let single = try connection.send(pipeline((Self.insert, [.integer(7)]), (Self.settings, [])))
    #expect(single.count == 2)
    #expect(single[0].changedRows == 1)
    #expect(try single[1].row(0).text(at: 0) == "1234ms")
    let explicit = try connection.send(pipeline((Self.begin, []), (Self.settings, [])))
    #expect(explicit.count == 2)
    #expect(try explicit[1].row(0).text(at: 0) == "1234ms")
    #expect(connection.isInTransaction)
    #expect(try connection.values("SELECT current_setting('transaction_isolation')") == [.text("repeatable read")])
    try connection.run(PostgreSQLConnection.rollback)
  }

  @Test("Statements without a transaction have the isolation that they expect")
  func isolation() throws {
    let sql = "SELECT set_config('default_transaction_isolation', 'serializable', false)"
    _ = try connection.sendUnchanged(pipeline((PostgreSQLStatement(sql), [])), prepares: false)
    #expect(try connection.values("SELECT current_setting('transaction_isolation')") == [.text("read committed")])
  }

  @Test("After a failure, nothing is written and no transaction is open", arguments: 0...2)
  func failure(place: Int) throws {
    var statements = PostgreSQLPipeline()
    for index in 0..<3 {
      if index == place {
        statements.add(Self.fail, [.text("x")])
      } else {
        statements.add(Self.insert, [.integer(Int64(index))])
      }
    }
    let error = postgreSQLError { _ = try connection.send(statements) }
    #expect(error?.sqlState == "22P02")
    #expect(error?.statementIndex == place)
    #expect(!connection.isInTransaction && !connection.isBroken)
    #expect(try connection.column("SELECT number FROM kept").isEmpty)
    #expect(postgreSQLError { try connection.execute("INSERT INTO kept VALUES (1); SELECT 'x'::int") }?.kind == .other)
    #expect(!connection.isInTransaction && !connection.isBroken)
    #expect(try connection.column("SELECT number FROM kept").isEmpty)
  }

  @Test("A failure in a transaction of its own names the statement, and leaves the transaction to the caller")
  func failureInTransaction() throws {
    let error = postgreSQLError {
      _ = try connection.send(pipeline((Self.begin, []), (Self.settings, []), (Self.fail, [.text("x")])))
    }
    #expect(error?.statementIndex == 2)
    #expect(connection.isInTransaction)
    try connection.run(PostgreSQLConnection.rollback)
    #expect(!connection.isInTransaction)
  }

  @Test("If the pooler leads to another server, the connection is lost before anything runs", arguments: [true, false])
  func otherServer(begins: Bool) throws {
    let name = "other_server_\(begins)"
    let direct = try TestServer.connect()
    try direct.execute("DROP TABLE IF EXISTS \(name); CREATE TABLE \(name) (number int8)")
    defer { try? direct.execute("DROP TABLE \(name)") }
    connection.poolerGuard = PoolerGuard(serverStart: 1)
    let insert = PostgreSQLStatement("INSERT INTO public.\(name) VALUES (1)")
    let statements =
      begins
      ? pipeline((PostgreSQLConnection.begin, []), (insert, []), (PostgreSQLConnection.commit, []))
      : pipeline((insert, []))
    let error = postgreSQLError { _ = try connection.send(statements) }
    #expect(error?.kind == .lostConnection)
    #expect(error?.message == "the pooler leads to another server, or the server was started again")
    #expect(connection.isBroken)
    #expect(try direct.column("SELECT number FROM \(name)").isEmpty)
  }
}
