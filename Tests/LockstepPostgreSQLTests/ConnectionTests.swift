import Glibc
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepPostgreSQL

@Suite("Connections", .timeLimit(.minutes(10)), .enabled(if: TestServer.isAvailable, TestServer.reason))
struct ConnectionTests {
  private static let sleep = PostgreSQLStatement("SELECT pg_sleep(600)")
  private static let processIdentifier = PostgreSQLStatement("SELECT pg_backend_pid()")

  private static func identifier(of connection: PostgreSQLConnection) throws -> Int {
    try connection.query(processIdentifier).row(0).integer(at: 0)
  }

  private static func terminate(_ process: Int) throws {
    let connection = try TestServer.connect()
    // Waits until the process has ended.
    try connection.run(
      PostgreSQLStatement("SELECT pg_terminate_backend($1::int4, 60000)"),
      [.integer(Int64(process))]
    )
  }

  @Test("A connection has the names of its host, database and user")
  func properties() throws {
    let connection = try TestServer.connect()
    #expect(connection.serverVersion >= 140_000)
    #expect(!connection.host.isEmpty && !connection.database.isEmpty && !connection.user.isEmpty)
    #expect(connection.parameter("server_encoding") == "UTF8")
    #expect(connection.parameter("application_name") == "lockstep")
    #expect(connection.parameter("no_such_parameter") == nil)
    #expect(!connection.isBroken)
    #expect(!connection.isInTransaction)
  }

  @Test("Settings hold for the session, and the connection string overrides the defaults")
  func settings() throws {
    let connection = try TestServer.connect(
      adding: "application_name=other client_encoding=LATIN1 keepalives_idle=77"
    )
    try connection.set([.init("lock_timeout", "1234"), .init("search_path", "\"it's\"")])
    #expect(
      try connection.values("SELECT current_setting('lock_timeout'), current_setting('search_path')")
        == [.text("1234ms"), .text("\"it's\"")]
    )
    #expect(connection.parameter("application_name") == "other")
    #expect(try connection.values("SELECT '€'") == [.text("€")])
    #expect(postgreSQLError { try connection.set([.init("no_such_setting", "1")]) }?.sqlState == "42704")
  }

  @Test("A closed connection refuses everything")
  func closed() throws {
    let connection = try TestServer.connect()
    connection.close()
    connection.close()
    #expect(connection.isBroken)
    #expect(!connection.isInTransaction)
    #expect(connection.parameter("server_encoding") == nil)
    #expect(postgreSQLError { try connection.execute("SELECT 1") }?.kind == .lostConnection)
    #expect(postgreSQLError { try connection.run(Self.sleep) }?.kind == .lostConnection)
    #expect(postgreSQLError { try connection.listen("a") }?.kind == .lostConnection)
    #expect(postgreSQLError { _ = try connection.notifications(waitingAtMost: .zero) }?.kind == .lostConnection)
  }

  @Test("A connection that the server ended while it was idle is broken at the next use", arguments: [true, false])
  func lostWhileIdle(isScript: Bool) throws {
    let connection = try TestServer.connect()
    try Self.terminate(Self.identifier(of: connection))
    let error = postgreSQLError {
      if isScript { try connection.execute("SELECT 1") } else { try connection.run(Self.processIdentifier) }
    }
    #expect(error?.kind == .shutdown || error?.kind == .lostConnection)
    #expect(connection.isBroken)
    #expect(postgreSQLError { try connection.execute("SELECT 1") }?.kind == .lostConnection)
  }

  @Test("A connection that the server ends during a statement is broken")
  func lostDuringStatement() throws {
    let connection = try TestServer.connect()
    connection.responseTimeout = .seconds(300)
    let process = try Self.identifier(of: connection)
    let terminator = try NamedThread(name: "terminator") {
      do {
        while try !Self.isSleeping(process) { usleep(5_000) }
        try Self.terminate(process)
      } catch {
        Issue.record(error)
      }
    }
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.processIdentifier)
    pipeline.add(Self.sleep)
    let error = postgreSQLError { _ = try connection.send(pipeline) }
    #expect(error?.kind == .shutdown)
    #expect(error?.sqlState == "57P01")
    #expect(error?.statementIndex == 1)
    #expect(connection.isBroken)
    terminator.join()
  }

  private static func isSleeping(_ process: Int) throws -> Bool {
    let sql = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $1"
    return try TestServer.connect().values(sql, [.integer(Int64(process))]) == [.integer(1)]
  }

  @Test("A server that does not respond in time breaks the connection", arguments: [true, false])
  func timeout(isScript: Bool) throws {
    let connection = try TestServer.connect()
    // Not before: it holds for the first query of a connection too, which may take longer.
    connection.responseTimeout = .milliseconds(200)
    let start = ContinuousClock.now
    let error = postgreSQLError {
      if isScript { try connection.execute(Self.sleep.sql) } else { try connection.run(Self.sleep) }
    }
    #expect(ContinuousClock.now - start >= .milliseconds(200))
    #expect(error?.kind == .timedOut)
    #expect(
      error?.description
        == #"PostgreSQL could not run "SELECT pg_sleep(600)": the server did not respond within 0.2 seconds."#
    )
    #expect(connection.isBroken)
    var options = TestServer.options
    options.responseTimeout = .seconds(50)
    let patient = try TestServer.connect(with: options)
    #expect(patient.responseTimeout == .seconds(50))
    patient.responseTimeout = .milliseconds(200)
    patient.responseTimeout = .seconds(60)
    try patient.execute("SELECT pg_sleep(0.4)")
  }

  // MARK: - Notifications

  @Test("Notifications of another connection arrive in order")
  func notifications() throws {
    let channel = "\"lockstep\" Ü \(getpid())"
    let (listener, sender) = (try TestServer.connect(), try TestServer.connect())
    try listener.listen(channel)
    #expect(try listener.notifications(waitingAtMost: .zero).isEmpty)
    let notify = PostgreSQLStatement("SELECT pg_notify($1, $2)")
    try sender.run(notify, [.text(channel), .text("first")])
    try sender.run(notify, [.text(channel), .text("")])
    try sender.run(notify, [.text("another channel"), .text("")])
    let process = Int32(try Self.identifier(of: sender))
    var arrived: [PostgreSQLNotification] = []
    while arrived.count < 2 { arrived += try listener.notifications(waitingAtMost: .seconds(60)) }
    #expect(
      arrived == [
        PostgreSQLNotification(channel: channel, payload: "first", pid: process),
        PostgreSQLNotification(channel: channel, payload: "", pid: process),
      ]
    )
    // A notification that arrives with a result is kept.
    try sender.run(notify, [.text(channel), .text("third")])
    try listener.execute("SELECT 1")
    try listener.run(Self.processIdentifier)
    #expect(try listener.notifications(waitingAtMost: .seconds(60)).map(\.payload) == ["third"])
  }

  @Test("A wait for notifications ends after its time")
  func waitEnds() throws {
    let connection = try TestServer.connect()
    try connection.listen("a")
    let start = ContinuousClock.now
    #expect(try connection.notifications(waitingAtMost: .milliseconds(50)).isEmpty)
    #expect(ContinuousClock.now - start >= .milliseconds(50))
  }

  @Test("An interrupt ends a wait for notifications, also if it comes before the wait")
  func interrupt() throws {
    let connection = try TestServer.connect()
    let interrupt = try PostgreSQLInterrupt()
    interrupt.interrupt()
    interrupt.interrupt()
    #expect(try connection.notifications(waitingAtMost: .seconds(600), interrupt: interrupt).isEmpty)
    // Both calls together interrupted one wait.
    #expect(try connection.notifications(waitingAtMost: .milliseconds(20), interrupt: interrupt).isEmpty)
    let later = try NamedThread(name: "interrupt") {
      usleep(50_000)
      interrupt.interrupt()
    }
    #expect(try connection.notifications(waitingAtMost: .seconds(600), interrupt: interrupt).isEmpty)
    later.join()
  }

  @Test("A connection that the server ends during a wait for notifications is broken")
  func lostWhileWaiting() throws {
    let connection = try TestServer.connect()
    try connection.listen("a")
    let process = try Self.identifier(of: connection)
    let terminator = try NamedThread(name: "terminator") {
      do { try Self.terminate(process) } catch { Issue.record(error) }
    }
    let error = postgreSQLError { _ = try connection.notifications(waitingAtMost: .seconds(600)) }
    #expect(error?.kind == .lostConnection)
    #expect(error?.description.hasPrefix("cannot wait for notifications of PostgreSQL: ") == true)
    #expect(connection.isBroken)
    terminator.join()
  }
}
