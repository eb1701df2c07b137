import CLockstepPostgreSQL
import Glibc

/// A connection to a PostgreSQL server.
///
/// No call waits longer for the server than the connection's time limits, except for the look-up of
/// a host name. A connection that broke or timed out cannot be used again: `isBroken` is true, and
/// each call throws an error of the kind `lostConnection`.
///
/// SQL is written as constants and values are sent as parameters, so text from outside cannot become
/// SQL. The only exception is `execute(_:)`, for scripts.
///
/// A connection is not `Sendable`: one thread at a time uses it. It is closed when it is released.
package final class PostgreSQLConnection {
  package struct Options: Sendable {
    /// The time in which the connection must be made. `connect_timeout` in the connection string
    /// overrides it. If the string names several hosts, each may take its share of the time.
    package var connectTimeout: Duration = .seconds(5)
    /// How long a call waits without any progress before the connection counts as broken.
    package var responseTimeout: Duration = .seconds(15)
    /// When it is interrupted, each call that waits for the server ends at once, with an error of the kind
    /// `timedOut`, and so does each later one.
    package var cancellation: PostgreSQLInterrupt?
    /// The name of this client in the server's lists, unless the connection string has one.
    package var applicationName = "lockstep"
    /// Behaves as if a pooler were found. For tests.
    package var assumesPooler = false

    package init() {}
  }

  let libpq: PostgreSQLLibrary
  /// The connection, which this object owns; nil after it was closed.
  private(set) var pointer: OpaquePointer?
  /// The names of the statements that this connection has prepared, by the statement's number.
  var prepared: [Int: String] = [:]
  var lastPreparedName = 0
  /// Differs between connections. Behind a pooler that was not noticed, several of them may share a
  /// connection of the server, and must not use each other's statements.
  let namePrefix = "lockstep_\(String(UInt64.random(in: .min ... .max), radix: 36))_"
  /// Behind a pooler, the statement that follows each `BEGIN`: see `PoolerGuard`.
  var poolerGuard: PoolerGuard?

  /// How long a call waits without any progress before the connection counts as broken. Raise it
  /// around a statement that takes long, such as `CREATE INDEX`.
  package var responseTimeout: Duration
  private let cancellation: PostgreSQLInterrupt?

  /// The server's version, such as 150008 for 15.8.
  package let serverVersion: Int
  /// The host to which libpq connected, or the folder of the Unix socket.
  package let host: String
  package let database: String
  package let user: String
  /// Whether the server was a standby when the connection was made.
  package private(set) var isStandby = false

  /// Connects to a server.
  ///
  /// - Parameters:
  ///   - connectionString: A URI, or options such as `host=… dbname=…`. libpq takes what is missing
  ///     from its environment variables, `.pgpass` and the service file.
  ///   - options: Time limits and settings.
  /// - Throws: A `PostgreSQLError` whose text does not contain the password.
  package convenience init(
    _ connectionString: String,
    options: Options = Options()
  ) throws(PostgreSQLError) {
    try self.init(connectionString, options: options, libpq: PostgreSQLLibrary.shared.get())
  }

  init(_ connectionString: String, options: Options, libpq: PostgreSQLLibrary) throws(PostgreSQLError) {
    let pointer = try Connecting.connect(connectionString, options, libpq)
    self.libpq = libpq
    self.pointer = pointer
    responseTimeout = options.responseTimeout
    cancellation = options.cancellation
    func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
    serverVersion = Int(libpq.functions.serverVersion(pointer))
    host = text(libpq.functions.host(pointer))
    database = text(libpq.functions.db(pointer))
    user = text(libpq.functions.user(pointer))
    guard libpq.functions.setnonblocking(pointer, 1) == 0 else { throw lost(.connect) }
    try examineServer(options)
  }

  deinit { close() }

  /// Closes the connection. The server rolls back an open transaction.
  package func close() {
    if let pointer { libpq.functions.finish(pointer) }
    pointer = nil
  }

  /// Whether the connection is closed, was lost, or timed out. It can then not be used again.
  package var isBroken: Bool { pointer.map { libpq.functions.status($0) == CONNECTION_BAD } ?? true }

  /// Whether a transaction is open, also one that failed and must be rolled back.
  package var isInTransaction: Bool {
    guard let pointer else { return false }
    let status = libpq.functions.transactionStatus(pointer)
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
  }

  /// A setting that the server reports, such as `server_encoding`.
  package func parameter(_ name: String) -> String? {
    pointer.flatMap { libpq.functions.parameterStatus($0, name) }.map { String(cString: $0) }
  }

  /// Runs the statements of a script in order, up to the first failure. Rows are ignored. If no
  /// transaction is open and the script does not open one, a failure rolls back all of it. The text
  /// must not come from outside. Behind a pooler, the script must not begin or end a transaction.
  package func execute(_ script: String) throws(PostgreSQLError) {
    guard isPooled, !isInTransaction else { return try execute(script, .run(sql: script)) }
    try run(Self.begin)
    do throws(PostgreSQLError) {
      try execute(script, .run(sql: script))
      try run(Self.commit)
    } catch {
      if isInTransaction { _ = try? run(Self.rollback) }
      throw error
    }
  }

  /// Runs the statement and ignores its rows.
  ///
  /// - Returns: The number of rows that an `INSERT`, `UPDATE` or `DELETE` changed or a `SELECT`
  ///   returned; 0 for other statements.
  @discardableResult
  package func run(_ statement: PostgreSQLStatement, _ values: [PostgreSQLValue] = []) throws(PostgreSQLError) -> Int {
    try query(statement, values).changedRows
  }

  /// Runs the statement and passes its rows to `body`, as long as `body` returns true.
  ///
  /// All rows are in memory before the first call of `body`, so `body` may use this connection. If
  /// there may be many rows, add a `LIMIT`.
  package func forEachRow(
    _ statement: PostgreSQLStatement,
    _ values: [PostgreSQLValue] = [],
    while body: (borrowing PostgreSQLRow) throws -> Bool
  ) throws {
    let result = try query(statement, values)
    for index in 0..<result.rowCount {
      guard try body(result.row(index)) else { return }
    }
  }

  /// Runs the statement and returns its rows.
  package func query(
    _ statement: PostgreSQLStatement,
    _ values: [PostgreSQLValue] = []
  ) throws(PostgreSQLError) -> PostgreSQLResult {
    var pipeline = PostgreSQLPipeline()
    pipeline.add(statement, values)
    return try send(pipeline)[0]
  }

  /// Runs all statements in one round trip.
  ///
  /// After an error, PostgreSQL does not run the statements that follow. The connection stays
  /// usable; if a transaction is open, the caller must roll it back.
  ///
  /// - Returns: One result for each statement.
  /// - Throws: The first error, with the index of its statement.
  package func send(_ pipeline: PostgreSQLPipeline) throws(PostgreSQLError) -> [PostgreSQLResult] {
    guard !pipeline.isEmpty else { return [] }
    if let poolerGuard, !isInTransaction { return try sendAsTransaction(pipeline, poolerGuard) }
    return try sendUnchanged(pipeline, prepares: !isPooled)
  }

  /// Sends the statements without any others. Prepares those that are not prepared yet if `prepares` is true.
  func sendUnchanged(
    _ pipeline: PostgreSQLPipeline,
    prepares: Bool
  ) throws(PostgreSQLError) -> [PostgreSQLResult] {
    // All values are checked before anything is sent.
    var parameters: [Parameters] = []
    parameters.reserveCapacity(pipeline.count)
    for (index, element) in pipeline.elements.enumerated() {
      parameters.append(try Parameters(element.values, sql: element.statement.sql, statementIndex: index))
    }
    return try exchange(pipeline.elements.map(\.statement), parameters, prepares: prepares)
  }

  // MARK: - Failures

  /// The open connection.
  func open(_ operation: PostgreSQLError.Operation) throws(PostgreSQLError) -> OpaquePointer {
    guard let pointer, libpq.functions.status(pointer) != CONNECTION_BAD else {
      throw PostgreSQLError(
        kind: .lostConnection,
        message: "the connection was lost or closed before",
        operation: operation
      )
    }
    return pointer
  }

  /// Closes the connection, and makes an error from libpq's last message.
  func lost(_ operation: PostgreSQLError.Operation) -> PostgreSQLError {
    let text = pointer.flatMap { libpq.functions.errorMessage($0) }.map { String(cString: $0) } ?? ""
    close()
    let message = PostgreSQLError.firstLine(text)
    return PostgreSQLError(
      kind: .lostConnection,
      message: message.isEmpty ? "the connection was lost" : message,
      operation: operation
    )
  }

  /// Waits until the socket can be read, or written if `alsoToWrite` is set. Closes the connection
  /// after the time limit.
  func wait(alsoToWrite: Bool, _ operation: PostgreSQLError.Operation) throws(PostgreSQLError) {
    let connection = try open(operation)
    let events = Int(POLLIN) | (alsoToWrite ? Int(POLLOUT) : 0)
    let descriptor = libpq.functions.socket(connection)
    guard descriptor >= 0 else { throw lost(operation) }
    let outcome = SocketWait.wait(for: descriptor, events, until: .now + responseTimeout, unless: cancellation)
    if outcome == .ready { return }
    close()
    let message =
      outcome == .canceled
      ? PostgreSQLError.cancellation : "the server did not respond within \(PostgreSQLError.text(of: responseTimeout))"
    throw PostgreSQLError(kind: .timedOut, message: message, operation: operation)
  }

  // MARK: - The server

  /// Finds out whether a pooler is between this connection and the server, and whether the server is a standby.
  private func examineServer(_ options: Options) throws(PostgreSQLError) {
    // A pooler may wait long for a server.
    responseTimeout = min(options.responseTimeout, .seconds(15))
    defer { responseTimeout = options.responseTimeout }
    let server: PoolerGuard.Server
    do throws(PostgreSQLError) {
      server = try PoolerGuard.examineServer(of: self)
    } catch {
      throw error.whileConnecting
    }
    isStandby = server.isStandby
    if server.isPooled || options.assumesPooler { poolerGuard = PoolerGuard(serverStart: server.start) }
  }
}
