import CLockstepPostgreSQL
import Glibc

/// Makes connections.
enum Connecting {
  /// Returns a connection that the caller must finish.
  static func connect(
    _ connectionString: String,
    _ options: PostgreSQLConnection.Options,
    _ libpq: PostgreSQLLibrary
  ) throws(PostgreSQLError) -> OpaquePointer {
    try ConnectionString.check(connectionString, libpq)
    guard let connection = start(connectionString, options, libpq) else {
      throw PostgreSQLError(kind: .cannotConnect, message: "out of memory", operation: .connect)
    }
    do throws(PostgreSQLError) {
      try finish(connection, options, libpq)
      return connection
    } catch {
      libpq.functions.finish(connection)
      throw error
    }
  }

  private static func start(
    _ connectionString: String,
    _ options: PostgreSQLConnection.Options,
    _ libpq: PostgreSQLLibrary
  ) -> OpaquePointer? {
    // A later keyword overrides an earlier one, so the string overrides all but the last.
    let keywords = [
      ("fallback_application_name", options.applicationName),
      // Without these, a connection to a server that disappeared would stay open for hours.
      ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "15000"),
      ("dbname", connectionString),
      // All texts are decoded as UTF-8.
      ("client_encoding", "UTF8"),
    ]
    // libpq copies the texts before it returns.
    let names = keywords.map { strdup($0.0) }
    let values = keywords.map { strdup($0.1) }
    defer { for text in names + values { free(text) } }
    let connection = libpq.functions.connectStartParams(
      names.map { UnsafePointer($0) } + [nil],
      values.map { UnsafePointer($0) } + [nil],
      1
    )
    guard let connection else { return nil }
    // The server's notices would go to stderr.
    _ = libpq.functions.setNoticeReceiver(connection, { _, _ in }, nil)
    _ = libpq.functions.setErrorVerbosity(connection, PQERRORS_VERBOSE)
    return connection
  }

  /// Waits until the connection is made.
  private static func finish(
    _ connection: OpaquePointer,
    _ options: PostgreSQLConnection.Options,
    _ libpq: PostgreSQLLibrary
  ) throws(PostgreSQLError) {
    let functions = libpq.functions
    guard functions.status(connection) != CONNECTION_BAD else { throw startError(connection, libpq) }
    let (timeout, hosts) = limits(connection, options, libpq)
    let deadline = ContinuousClock.now + timeout
    var attempt = Attempt(connection, libpq)
    var attemptDeadline = min(deadline, .now + timeout / hosts)
    var direction = PGRES_POLLING_WRITING
    while direction != PGRES_POLLING_OK {
      guard direction != PGRES_POLLING_FAILED else { throw error(connection, libpq) }
      let current = Attempt(connection, libpq)
      if current != attempt {
        attempt = current
        attemptDeadline = min(deadline, .now + timeout / hosts)
      }
      let events = direction == PGRES_POLLING_READING ? Int(POLLIN) : Int(POLLOUT)
      if SocketWait.wait(for: [(current.descriptor, events)], until: attemptDeadline) == nil {
        guard ContinuousClock.now < deadline else {
          throw PostgreSQLError(
            kind: .timedOut,
            message: "no connection within \(PostgreSQLError.text(of: timeout)) (\(attempt.place))",
            operation: .connect
          )
        }
        // libpq cannot skip a host that does not respond. A socket that is shut down fails, and then
        // libpq continues with the next host.
        shutdown(current.descriptor, Int32(SHUT_RDWR))
        attemptDeadline = deadline
      }
      direction = functions.connectPoll(connection)
    }
    _ = functions.setErrorVerbosity(connection, PQERRORS_DEFAULT)
  }

  /// One of the addresses that libpq tries.
  private struct Attempt: Equatable {
    let descriptor: Int32
    let host: String
    let address: String
    let port: String

    init(_ connection: OpaquePointer, _ libpq: PostgreSQLLibrary) {
      func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
      descriptor = libpq.functions.socket(connection)
      host = text(libpq.functions.host(connection))
      address = text(libpq.functions.hostaddr(connection))
      port = text(libpq.functions.port(connection))
    }

    var place: String { "host \(host), port \(port)" }

    /// libpq may connect to the same address twice, for example to try without encryption.
    static func == (left: Attempt, right: Attempt) -> Bool {
      (left.host, left.address, left.port) == (right.host, right.address, right.port)
    }
  }

  /// The time limit and the number of hosts.
  private static func limits(
    _ connection: OpaquePointer,
    _ options: PostgreSQLConnection.Options,
    _ libpq: PostgreSQLLibrary
  ) -> (Duration, Int) {
    guard let values = libpq.functions.conninfo(connection) else { return (options.connectTimeout, 1) }
    defer { libpq.functions.conninfoFree(values) }
    func value(_ keyword: String) -> String { ConnectionString.value(of: keyword, in: values) ?? "" }
    let hosts = max(
      value("host").split(separator: ",", omittingEmptySubsequences: false).count,
      value("hostaddr").split(separator: ",", omittingEmptySubsequences: false).count
    )
    let seconds = Int32(value("connect_timeout")) ?? 0
    return (seconds > 0 ? .seconds(Int64(seconds)) : options.connectTimeout, max(hosts, 1))
  }

  private static func error(_ connection: OpaquePointer, _ libpq: PostgreSQLLibrary) -> PostgreSQLError {
    PostgreSQLError(connecting: text(connection, libpq))
  }

  /// An error that libpq found before it connected to a host.
  private static func startError(_ connection: OpaquePointer, _ libpq: PostgreSQLLibrary) -> PostgreSQLError {
    let text = text(connection, libpq)
    if text.hasPrefix("definition of service") || text.contains("service file") {
      return PostgreSQLError(
        kind: .noSuchService,
        message: PostgreSQLError.firstLine(text),
        operation: .connect
      )
    }
    if ["invalid ", "could not match "].contains(where: { text.hasPrefix($0) }) {
      return PostgreSQLError(
        kind: .invalidConnectionString,
        message: PostgreSQLError.firstLine(text),
        operation: .parse
      )
    }
    return PostgreSQLError(connecting: text)
  }

  private static func text(_ connection: OpaquePointer, _ libpq: PostgreSQLLibrary) -> String {
    libpq.functions.errorMessage(connection).map { String(cString: $0) } ?? ""
  }
}
