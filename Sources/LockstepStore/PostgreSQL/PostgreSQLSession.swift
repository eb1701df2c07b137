import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLite

/// A connection to PostgreSQL with the statements that it has prepared. One thread uses it.
package final class PostgreSQLSession {
  let connection: PostgreSQLConnection
  /// By the address of the literal.
  private var statements: [UnsafeRawPointer: PostgreSQLStatement] = [:]
  /// The statement that begins the transaction. It is sent with the first statement of the transaction,
  /// to save a round trip.
  private var pendingBegin: PostgreSQLStatement?
  /// Whether the connection was lost during a commit, so that its outcome is unknown.
  private(set) var isCommitting = false
  /// Identifies this connection in the table `commits`.
  let origin = PostgreSQLUUID(high: .random(in: 1 ... .max), low: .random(in: .min ... .max))
  /// The transaction's changes that other nodes must know of.
  var announced = CommitChanges()

  /// How long a transaction waits for its COMMIT. The commit itself is quick, but it may wait for a synchronous
  /// standby.
  private let commitTimeout: Duration

  /// A transaction waits for its COMMIT for `commitTimeout`, and for other statements as long as `connection` does.
  init(_ connection: PostgreSQLConnection, commitTimeout: Duration? = nil) {
    self.connection = connection
    self.commitTimeout = commitTimeout ?? connection.responseTimeout
  }

  package func run(_ sql: StoreSQL, _ values: [SQLiteValue]) throws -> Int {
    try query(sql, values).changedRows
  }

  package func forEachRow(
    _ sql: StoreSQL,
    _ values: [SQLiteValue],
    while body: (consuming PostgreSQLStoreRow) throws -> Bool
  ) throws {
    let result = try query(sql, values)
    for index in 0..<result.rowCount where try !body(PostgreSQLStoreRow(result: result, index: index)) { return }
  }

  private func query(_ sql: StoreSQL, _ values: [SQLiteValue]) throws -> PostgreSQLResult {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(statement(sql), values.map(PostgreSQLValue.init))
    return try send(pipeline)[0]
  }

  /// Sends a pipeline. If a transaction is pending, begins it in the same round trip.
  func send(_ pipeline: PostgreSQLPipeline) throws -> [PostgreSQLResult] {
    guard let begin = pendingBegin.take() else { return try connection.send(pipeline) }
    var whole = PostgreSQLPipeline()
    whole.add(begin)
    whole.add(contentsOf: pipeline)
    return Array(try connection.send(whole).dropFirst())
  }

  /// The statement for a literal. Each literal is translated once for a connection.
  func statement(_ sql: StoreSQL) -> PostgreSQLStatement {
    let address = UnsafeRawPointer(sql.postgreSQL.utf8Start)
    if let known = statements[address] { return known }
    let new = PostgreSQLStatement(sql.numberedText)
    statements[address] = new
    return new
  }

  // MARK: Transactions

  // Each statement must see what was committed before it, whatever the default of the database.
  private static let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED")
  private static let beginSnapshot = PostgreSQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
  static let commit = PostgreSQLStatement("COMMIT")
  private static let rollback = PostgreSQLStatement("ROLLBACK")

  /// Runs `body`, which only reads, on one state of the database.
  func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
    try transaction(begin: Self.beginSnapshot, body)
  }

  /// Runs `body` in a transaction, and commits. If `body` throws, rolls back.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try transaction(begin: Self.begin, body)
  }

  private func transaction<Result>(begin: PostgreSQLStatement, _ body: () throws -> Result) throws -> Result {
    pendingBegin = begin
    announced = CommitChanges()
    do {
      let result = try body()
      isCommitting = true
      defer { isCommitting = connection.isBroken }
      let timeout = connection.responseTimeout
      connection.responseTimeout = commitTimeout
      defer { connection.responseTimeout = timeout }
      try end(with: Self.commit)
      return result
    } catch {
      // The error of `body` matters. If this fails too, the connection is broken, and the server rolls
      // back.
      try? end(with: Self.rollback)
      throw error
    }
  }

  /// Rolls back the transaction that a pipeline has begun.
  func rollBack() throws { _ = try connection.run(Self.rollback) }

  /// Runs statements without parameters. If a transaction is pending, begins it first.
  func execute(_ script: String) throws {
    if let begin = pendingBegin.take() { _ = try connection.run(begin) }
    try connection.execute(script)
  }

  /// Updates the uses of sessions with one statement.
  func update(_ usage: [SessionUsage]) throws {
    var pipeline = PostgreSQLPipeline()
    // In the order of the ids, so that two nodes never wait for each other.
    let usage = usage.sorted { ($0.user.uuid, $0.id.uuid) < ($1.user.uuid, $1.id.uuid) }
    pipeline.add(
      Self.updateSessions,
      [
        .uuids(usage.map(\.user.value)), .uuids(usage.map(\.id.value)),
        .integers(usage.map(\.lastSeenAt.millisecondsSince1970)),
        .integers(usage.map(\.expiresAt.millisecondsSince1970)), .optionalTexts(usage.map(\.cursor)),
      ]
    )
    _ = try send(pipeline)
  }

  private static let updateSessions = PostgreSQLStatement(
    """
    UPDATE sessions AS s SET
      last_seen_at = greatest(s.last_seen_at, v.l), expires_at = greatest(s.expires_at, v.e), cursor = v.c
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[]) AS v (u, i, l, e, c)
    WHERE s.user_id = v.u AND s.id = v.i
    """
  )

  /// Ends the transaction, if it has begun.
  private func end(with statement: PostgreSQLStatement) throws {
    if pendingBegin.take() != nil { return }
    _ = try connection.run(statement)
  }
}
