import Glibc
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepStateTestSupport

extension TestDatabase {
  /// Runs `body` with a server on this database.
  static func serve(_ body: (ServerFixture, TestDatabase) async throws -> Void) async throws {
    try await serve(nodes: 1) { servers, database in try await body(servers[0], database) }
  }

  /// Runs `body` with several servers on this database. `change` changes the configuration of the server
  /// with this index.
  static func serve(
    nodes: Int,
    changing change: @escaping (Int, inout Configuration) -> Void = { _, _ in },
    _ body: ([ServerFixture], TestDatabase) async throws -> Void
  ) async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    func start(_ started: [ServerFixture]) async throws {
      if started.count == nodes {
        if nodes > 1 { try await database.waitForAddresses(of: started) }
        return try await body(started, database)
      }
      try await ServerFixture.run {
        $0.store = database.connectionString
        change(started.count, &$0)
      } _: {
        try await start(started + [$0])
      }
    }
    try await start([])
  }

  /// Waits until the servers can forward requests to each other. A server starts before its address
  /// is in the database if that takes more than a second.
  private func waitForAddresses(of servers: [ServerFixture]) async throws {
    let known = servers.count { $0.configuration.host != "0.0.0.0" || $0.configuration.nodeAddress != nil }
    try await eventually { try count("SELECT count(*) FROM nodes WHERE address IS NOT NULL") >= known }
  }
}

extension RawClient {
  /// Whether the server has sent something more, or has closed the connection.
  var hasInput: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 1
  }
}

extension Device {
  /// The same device at another server.
  func at(_ server: ServerFixture) -> Device {
    Device(users: server, token: token, user: user, session: session)
  }

  /// Sends a `GET` that waits, and returns when `isWaiting` is true. Repeats a request that was
  /// refused, because a server on a busy machine may lose its lease for a moment.
  ///
  /// The status line of a stream may be read already.
  func waiting(
    _ target: String,
    _ fields: [String] = [],
    until isWaiting: () throws -> Bool
  ) async throws -> RawClient {
    var client = try await waiting(target, fields)
    var isAccepted = false
    try await eventually {
      if try isWaiting() { return true }
      guard !isAccepted, client.hasInput else { return false }
      isAccepted = !String(decoding: try await client.line(), as: UTF8.self).contains(" 503 ")
      if !isAccepted { client = try await waiting(target, fields) }
      return false
    }
    return client
  }
}

/// The way of one server to a database, which a test can cut off.
struct DatabaseRoad: Sendable {
  private let folder: TemporaryDirectory
  private let socket: String
  private let link: String

  /// The server must be reached by a Unix socket.
  init(to server: String) throws {
    folder = try TemporaryDirectory()
    let host = try #require(server.split(separator: " ").first { $0.hasPrefix("host=/") }).dropFirst("host=".count)
    socket = "\(host)/.s.PGSQL.5432"
    link = folder.file(".s.PGSQL.5432")
    open()
  }

  /// The connection string with this way.
  func string(for connectionString: String) -> String {
    connectionString.split(separator: " ").filter { !$0.hasPrefix("host=") }.joined(separator: " ")
      + " host=\(folder.path) application_name=\(name)"
  }

  /// The name of the connections, in the lists of the database.
  var name: String { "node" + folder.path.suffix(8).filter { $0.isLetter || $0.isNumber } }

  func open() { symlink(socket, link) }

  /// From now on, no new connections can be made. Those that exist stay.
  func close() { unlink(link) }

  /// Ends the connections. New ones cannot be made.
  func cut(_ database: TestDatabase) throws {
    close()
    try database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(name)'")
  }
}
