import CLockstepPostgreSQL

/// The statement that begins each transaction of a connection through a pooler.
///
/// Behind PgBouncer in transaction mode, each transaction may have another connection to the server, and
/// maybe to another server. So nothing outlives a transaction there: no setting, no prepared statement and no
/// subscription. This statement follows each `BEGIN`, in the same round trip. It makes the settings for the
/// transaction, and fails if the server is not the one to which the connection was made. Then the connection
/// counts as lost, as a direct one would be: after a failover, the memory must be compared with the store.
struct PoolerGuard {
  /// When the server was started, in microseconds. Each start of a server has another time.
  private let serverStart: Int
  let statement: PostgreSQLStatement

  init(serverStart: Int, settings: [PostgreSQLSetting] = []) {
    self.serverStart = serverStart
    // Not a number, so the cast fails with this text. PostgreSQL logs it.
    let check = "(CASE \(Self.startOfServer) WHEN \(serverStart) THEN '0' ELSE '\(Self.otherServer)' END)::int"
    let columns = [check] + settings.map { $0.expression(isLocal: true) }
    statement = PostgreSQLStatement("SELECT \(columns.joined(separator: ", "))")
  }

  func with(_ settings: [PostgreSQLSetting]) -> PoolerGuard {
    PoolerGuard(serverStart: serverStart, settings: settings)
  }

  static let otherServer = "the pooler leads to another server, or the server was started again"
  /// The code of the error of `statement` if the server is another one.
  static let otherServerState = "22P02"

  private static let startOfServer = "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"

  struct Server {
    let isPooled: Bool
    let isStandby: Bool
    let start: Int
  }

  private static let examination = PostgreSQLStatement(
    "SELECT pg_backend_pid(), pg_is_in_recovery(), \(startOfServer)"
  )

  /// A pooler gives each client a number of its own instead of the number of the server's process.
  static func examineServer(of connection: PostgreSQLConnection) throws(PostgreSQLError) -> Server {
    let row = try connection.queryUnprepared(examination).row(0)
    return Server(
      isPooled: try row.integer(at: 0) != connection.processNumber,
      isStandby: try row.integer(at: 1) == 1,
      start: try row.integer(at: 2)
    )
  }
}

/// A setting of PostgreSQL on which the statements of a connection depend.
package struct PostgreSQLSetting: Sendable {
  private let name: String
  /// SQL for the value.
  private let value: String

  /// A setting with a constant value, such as `PostgreSQLSetting("lock_timeout", "5s")`.
  package init(_ name: String, _ value: String) {
    self.init(name, sql: Self.literal(value))
  }

  private init(_ name: String, sql: String) {
    (self.name, value) = (name, sql)
  }

  /// A commit waits for the disk of the server, and of its synchronous standbys. The role or the database
  /// may have a setting with which a crash loses acknowledged writes.
  package static let durableCommits = PostgreSQLSetting(
    "synchronous_commit",
    sql: "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END"
  )

  /// The call that makes the setting, for the transaction if `isLocal` is true and else for the session.
  func expression(isLocal: Bool) -> String { "set_config(\(Self.literal(name)), \(value), \(isLocal))" }

  private static func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}

extension PostgreSQLConnection {
  /// Whether there is a pooler between this connection and the server. Then a transaction may have another
  /// connection to the server than the one before: nothing is prepared, and notifications do not arrive.
  package var isPooled: Bool { poolerGuard != nil }

  static let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED")
  static let commit = PostgreSQLStatement("COMMIT")
  private static let nothing = PostgreSQLStatement("SELECT")
  static let rollback = PostgreSQLStatement("ROLLBACK")

  /// The number of the server's process, or what a pooler calls so.
  var processNumber: Int { pointer.map { Int(libpq.functions.backendPID($0)) } ?? 0 }

  /// Makes settings: for the session, or behind a pooler for each transaction that begins later.
  package func set(_ settings: [PostgreSQLSetting]) throws(PostgreSQLError) {
    if let poolerGuard {
      self.poolerGuard = poolerGuard.with(settings)
      // Shows now whether the server accepts them.
      try run(Self.nothing)
    } else if !settings.isEmpty {
      let calls = settings.map { $0.expression(isLocal: false) }
      _ = try queryUnprepared(PostgreSQLStatement("SELECT \(calls.joined(separator: ", "))"))
    }
  }

  /// Runs a statement that is used once for each connection.
  fileprivate func queryUnprepared(_ statement: PostgreSQLStatement) throws(PostgreSQLError) -> PostgreSQLResult {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(statement)
    return try sendUnchanged(pipeline, prepares: false)[0]
  }

  /// Sends statements in a transaction with the settings, in one round trip. If the statements do not begin
  /// a transaction, it ends with them. Without `BEGIN`, PostgreSQL would run them as one transaction too,
  /// but with the isolation that is the default of the role or of the database.
  func sendAsTransaction(
    _ pipeline: PostgreSQLPipeline,
    _ poolerGuard: PoolerGuard
  ) throws(PostgreSQLError) -> [PostgreSQLResult] {
    let begins = pipeline.elements.first?.statement.beginsTransaction ?? false
    var whole = PostgreSQLPipeline()
    if !begins { whole.add(Self.begin) }
    whole.add(contentsOf: pipeline)
    whole.elements.insert((poolerGuard.statement, []), at: 1)
    if !begins { whole.add(Self.commit) }
    do throws(PostgreSQLError) {
      var results = try sendUnchanged(whole, prepares: false)
      results.remove(at: 1)
      return begins ? results : Array(results.dropFirst().dropLast())
    } catch {
      guard error.statementIndex != 1 || error.sqlState != PoolerGuard.otherServerState else {
        close()
        throw PostgreSQLError(
          kind: .lostConnection,
          message: PoolerGuard.otherServer,
          operation: .run(sql: pipeline.elements.first?.statement.sql)
        )
      }
      if !begins, isInTransaction { _ = try? run(Self.rollback) }
      var error = error
      error.statementIndex = error.statementIndex.map { index in
        let ownIndex = begins ? (index > 0 ? index - 1 : 0) : index - 2
        return min(max(ownIndex, 0), pipeline.count - 1)
      }
      throw error
    }
  }
}
