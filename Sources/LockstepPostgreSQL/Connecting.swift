import CLockstepPostgreSQL
import Glibc

/// Makes one connection.
struct Connecting {
  private let libpq: PostgreSQLLibrary
  private let connectionString: String
  private let options: PostgreSQLConnection.Options

  /// Returns a connection that the caller must finish.
  static func connect(
    _ connectionString: String,
    _ options: PostgreSQLConnection.Options,
    _ libpq: PostgreSQLLibrary
  ) throws(PostgreSQLError) -> OpaquePointer {
    try ConnectionString.check(connectionString, libpq)
    return try Connecting(libpq: libpq, connectionString: connectionString, options: options).connect()
  }

  /// libpq moves on to the next host when a host refuses, but without blocking calls it never gives
  /// up a host that does not respond. So each host gets a share of the time. If a host uses it up,
  /// libpq starts again with the other hosts.
  private func connect() throws(PostgreSQLError) -> OpaquePointer {
    var connection = try start(nil)
    let (timeout, allHosts) = limits(connection)
    let deadline = ContinuousClock.now + timeout
    var hosts = allHosts
    while true {
      let silent: Place?
      do throws(PostgreSQLError) {
        silent = try finish(connection, share: timeout / allHosts.count, deadline)
      } catch {
        libpq.functions.finish(connection)
        throw error
      }
      guard let silent else { return connection }
      libpq.functions.finish(connection)
      hosts.remove(silent)
      guard hosts.count > 0, ContinuousClock.now < deadline else {
        throw PostgreSQLError(
          kind: .timedOut,
          message: "\(silent) did not respond within \(PostgreSQLError.text(of: timeout))",
          operation: .connect
        )
      }
      connection = try start(hosts)
    }
  }

  /// Begins to connect, to these hosts or to those of the connection string.
  private func start(_ hosts: Hosts?) throws(PostgreSQLError) -> OpaquePointer {
    // A later keyword overrides an earlier one.
    let keywords =
      [
        ("fallback_application_name", options.applicationName),
        // Without these, a connection to a server that disappeared would stay open for hours.
        ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "15000"),
        ("dbname", connectionString),
        // All texts are decoded as UTF-8.
        ("client_encoding", "UTF8"),
      ] + (hosts?.keywords ?? [])
    // libpq copies the texts before it returns.
    let names = keywords.map { strdup($0.0) }
    let values = keywords.map { strdup($0.1) }
    defer { for text in names + values { free(text) } }
    let connection = libpq.functions.connectStartParams(
      names.map { UnsafePointer($0) } + [nil],
      values.map { UnsafePointer($0) } + [nil],
      // Expands the connection string in `dbname`.
      1
    )
    guard let connection else {
      throw PostgreSQLError(kind: .cannotConnect, message: "out of memory", operation: .connect)
    }
    // The server's notices would go to stderr.
    _ = libpq.functions.setNoticeReceiver(connection, { _, _ in }, nil)
    _ = libpq.functions.setErrorVerbosity(connection, PQERRORS_VERBOSE)
    guard libpq.functions.status(connection) != CONNECTION_BAD else {
      defer { libpq.functions.finish(connection) }
      throw startError(connection)
    }
    return connection
  }

  /// Waits until the connection is made.
  ///
  /// - Returns: nil, or the host that used up its share of the time.
  private func finish(
    _ connection: OpaquePointer,
    share: Duration,
    _ deadline: ContinuousClock.Instant
  ) throws(PostgreSQLError) -> Place? {
    var place = Place(connection, libpq)
    var placeDeadline = min(deadline, .now + share)
    var direction = PGRES_POLLING_WRITING
    while direction != PGRES_POLLING_OK {
      guard direction != PGRES_POLLING_FAILED else { throw PostgreSQLError(connecting: text(connection)) }
      let current = Place(connection, libpq)
      if current != place {
        place = current
        placeDeadline = min(deadline, .now + share)
      }
      let events = direction == PGRES_POLLING_READING ? Int(POLLIN) : Int(POLLOUT)
      // libpq may use another socket after each step.
      let descriptor = libpq.functions.socket(connection)
      switch SocketWait.wait(for: descriptor, events, until: placeDeadline, unless: options.cancellation) {
      case .ready: break
      case .timedOut: return place
      case .canceled:
        throw PostgreSQLError(kind: .timedOut, message: PostgreSQLError.cancellation, operation: .connect)
      }
      direction = libpq.functions.connectPoll(connection)
    }
    _ = libpq.functions.setErrorVerbosity(connection, PQERRORS_DEFAULT)
    return nil
  }

  /// The time limit and the hosts.
  private func limits(_ connection: OpaquePointer) -> (Duration, Hosts) {
    guard let values = libpq.functions.conninfo(connection) else { return (options.connectTimeout, Hosts()) }
    defer { libpq.functions.conninfoFree(values) }
    func value(_ keyword: String) -> String { ConnectionString.value(of: keyword, in: values) ?? "" }
    let seconds = Int32(value("connect_timeout")) ?? 0
    return (
      seconds > 0 ? .seconds(Int64(seconds)) : options.connectTimeout,
      Hosts(names: value("host"), addresses: value("hostaddr"), ports: value("port"))
    )
  }

  /// An error that libpq found before it had connected to a host.
  private func startError(_ connection: OpaquePointer) -> PostgreSQLError {
    let text = text(connection)
    if text.hasPrefix("definition of service") || text.contains("service file") {
      return PostgreSQLError(kind: .noSuchService, message: PostgreSQLError.firstLine(text), operation: .connect)
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

  private func text(_ connection: OpaquePointer) -> String {
    libpq.functions.errorMessage(connection).map { String(cString: $0) } ?? ""
  }

  /// One of the hosts that libpq tries.
  private struct Place: Equatable, CustomStringConvertible {
    let host: String
    let port: String

    init(_ connection: OpaquePointer, _ libpq: PostgreSQLLibrary) {
      func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
      host = text(libpq.functions.host(connection))
      port = text(libpq.functions.port(connection))
    }

    var description: String { "the host \(host), port \(port)" }
  }

  /// The hosts of the connection string. libpq separates them with commas.
  private struct Hosts {
    private var names: [Substring] = []
    private var addresses: [Substring] = []
    private var ports: [Substring] = []

    /// Hosts that are not known.
    init() {}

    init(names: String, addresses: String, ports: String) {
      func list(_ text: String) -> [Substring] {
        text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
      }
      self.names = list(names)
      self.addresses = list(addresses)
      self.ports = list(ports)
      // One port may stand for all hosts.
      if self.ports.count < count { self.ports = Array(repeating: self.ports.first ?? "", count: count) }
    }

    private(set) var isUsedUp = false

    /// At least 1, because without a host libpq connects to its default.
    var count: Int { isUsedUp ? 0 : max(names.count, addresses.count, 1) }

    /// Removes the host that does not respond. libpq names a host by its name, if it has one.
    mutating func remove(_ place: Place) {
      let found = (0..<count).first { index in
        let name = [names, addresses].compactMap { $0.indices.contains(index) ? $0[index] : nil }.first { !$0.isEmpty }
        return name.map { $0 == place.host } ?? true
          && ports.indices.contains(index) && (ports[index].isEmpty || ports[index] == place.port)
      }
      guard count > 1, let found else {
        isUsedUp = true
        return
      }
      if names.indices.contains(found) { names.remove(at: found) }
      if addresses.indices.contains(found) { addresses.remove(at: found) }
      if ports.indices.contains(found) { ports.remove(at: found) }
    }

    var keywords: [(String, String)] {
      [("host", names), ("hostaddr", addresses), ("port", ports)].map { ($0.0, $0.1.joined(separator: ",")) }
    }
  }
}
