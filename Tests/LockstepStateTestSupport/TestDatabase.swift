import LockstepPostgreSQL
import LockstepTestSupport
import Testing

/// A database of its own in the server that scripts/test starts.
struct TestDatabase: Sendable {
  let folder: TemporaryDirectory
  let connectionString: String

  init() throws {
    folder = try TemporaryDirectory()
    let server = try #require(TestedStore.anyServer)
    connectionString = try TestedStore.database(for: folder.file("store"), on: server)
  }

  func remove() { TestedStore.drop(folder.file("store"), on: TestedStore.anyServer) }

  /// A connection of the test.
  private func connect() throws -> PostgreSQLConnection { try PostgreSQLConnection(connectionString) }

  /// Runs statements as another program does.
  func execute(_ script: String) throws { try connect().execute(script) }

  func count(_ sql: String) throws -> Int {
    try connect().query(PostgreSQLStatement(sql)).row(0).integer(at: 0)
  }

  /// A connection that holds an advisory lock until it is closed.
  func holding(lock: Int) throws -> PostgreSQLConnection {
    let connection = try connect()
    try connection.execute("SELECT pg_advisory_lock(\(lock))")
    return connection
  }

  /// Ends all connections of servers to this database.
  func endConnections() throws {
    try execute(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name')
      """
    )
  }
}
