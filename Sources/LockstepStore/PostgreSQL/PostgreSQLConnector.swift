import LockstepPostgreSQL
import LockstepThreading

/// Opens connections to the database of one store.
final class PostgreSQLConnector: Sendable {
  /// The use of a connection.
  enum Role {
    /// Group commits.
    case writer
    /// Units: accounts, registered defaults, upkeep.
    case units
    case reader
    /// Reads that take longer.
    case longReader
    /// The commits of other servers.
    case feed
    /// A command beside the servers. Its statements may take as long as they need.
    case command
  }

  /// The oldest server that works, as `server_version_num`.
  static let oldestServer = 150_000

  private let connectionString: String
  /// The store's id, once it is known. Each later connection must lead to the same store.
  private let id = LockedState<String?>(nil)
  private let writerListener = LockedState<(@Sendable () -> Void)?>(nil)

  init(_ connectionString: String) {
    self.connectionString = connectionString
  }

  func setID(_ id: String) { self.id.withLock { $0 = id } }

  /// Sets the listener for connections of the writer. It runs before the first group on each of them,
  /// because the history may be another one after a failover.
  func onWriterConnection(_ listener: @escaping @Sendable () -> Void) { writerListener.withLock { $0 = listener } }

  func writerHasConnected() { writerListener.withLock { $0 }?() }

  /// The channel of the store's notifications.
  var channel: String { "lockstep_" + (id.withLock { $0 } ?? "") }

  /// Connects, and tries again for about `patience` while no server can be reached.
  func connect(_ role: Role, within patience: Duration) throws -> PostgreSQLSession {
    let deadline = ContinuousClock.now + patience
    while true {
      do {
        return try connect(role)
      } catch let error as PostgreSQLError where error.mayPass && ContinuousClock.now < deadline {
        Self.pause()
      }
    }
  }

  /// Sleeps between two attempts.
  private static func pause() {
    _ = LockedState(()).wait(atMost: 250_000_000) { _ -> Void? in nil }
  }

  func connect(_ role: Role) throws -> PostgreSQLSession {
    var options = PostgreSQLConnection.Options()
    // Keepalives notice a server that disappears.
    if role == .command { options.responseTimeout = .seconds(86_400) }
    let connection = try PostgreSQLConnection(connectionString, options: options)
    try Self.check(connection)
    try connection.execute(Self.settings(for: role))
    let session = PostgreSQLSession(connection)
    if let id = id.withLock({ $0 }) {
      let found = try StoreConnection.postgreSQL(session).first("SELECT id FROM store") { try $0[0] as String }
      guard found == id else { throw StoreError.replaced(path: Self.name(of: connection)) }
    }
    return session
  }

  /// Throws if the server cannot hold a store.
  private static func check(_ connection: PostgreSQLConnection) throws {
    let name = name(of: connection)
    if connection.serverVersion < oldestServer {
      throw StoreError.unusableDatabase(
        name: name,
        what: "the server is PostgreSQL \(connection.serverVersion / 10_000), and Lockstep needs 15 or later",
        advice: "Upgrade the server."
      )
    }
    if let encoding = connection.parameter("server_encoding"), encoding != "UTF8" {
      throw StoreError.unusableDatabase(
        name: name,
        what: "its encoding is \(encoding), and Lockstep needs UTF8",
        advice: "Create a database with ENCODING 'UTF8'."
      )
    }
    if connection.parameter("in_hot_standby") == "on" {
      throw StoreError.unusableDatabase(
        name: name,
        what: "the server is a read-only standby",
        advice: "Name the primary, or all servers with target_session_attrs=read-write."
      )
    }
  }

  /// The database in messages.
  static func name(of connection: PostgreSQLConnection) -> String {
    "\(connection.database) on \(connection.host)"
  }

  private static func settings(for role: Role) -> String {
    var settings = """
      SET client_min_messages = warning; SET timezone = 'UTC'; SET bytea_output = hex;
      SET idle_in_transaction_session_timeout = '10s';
      """
    // A plan that is made while a table is empty would read all of it later.
    let fixedPlans = """
      SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
      SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
      """
    switch role {
    case .writer: settings += fixedPlans + "SET lock_timeout = '5s'; SET statement_timeout = '10s';"
    // Nothing that it writes must outlive a crash of the database.
    case .feed: settings += fixedPlans + "SET statement_timeout = '10s'; SET synchronous_commit = off;"
    case .units: settings += "SET lock_timeout = '5s'; SET statement_timeout = '60s'; SET jit = off;"
    case .reader: settings += "SET statement_timeout = '10s'; SET jit = off;"
    case .longReader: settings += "SET statement_timeout = '60s'; SET jit = off;"
    case .command: settings += "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '10min';"
    }
    return settings
  }
}

extension PostgreSQLError {
  /// Whether the server may accept a connection a moment later.
  fileprivate var mayPass: Bool {
    switch kind {
    case .cannotConnect, .lostConnection, .timedOut, .tooManyConnections, .shutdown: true
    default: false
    }
  }
}
