import Glibc
import LockstepPostgreSQL
import LockstepStore
import Testing

/// The database of the stores under test. `scripts/test --store postgresql` runs the tests that do not
/// look into the file of a store on PostgreSQL.
enum TestedStore {
  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The connection string of the PostgreSQL server; nil if the stores are in SQLite.
  static let server: String? = variable("LOCKSTEP_TEST_STORE") == "postgresql" ? anyServer : nil

  /// The connection string of the PostgreSQL server that scripts/test starts.
  static let anyServer: String? = variable("LOCKSTEP_TEST_POSTGRESQL")

  static let isSQLite = server == nil

  static let sqliteOnly: Comment = "looks into the file of the store"
  static let sqliteMetrics: Comment = "needs the metrics of a store in SQLite"
  static let sqliteClock: Comment = "counts attempts by a clock that stands still; see SharedAttemptsTests"
  static let sqliteGroups: Comment = "needs a writer that runs all changes in one group"

  /// The connection string for the store that a test would keep in this file; nil if it is in SQLite. Each
  /// store has a schema of its own.
  static func database(for path: String) throws -> String? {
    try server.map { try database(for: path, on: $0) }
  }

  static func database(for path: String, on server: String) throws -> String {
    let connection = try PostgreSQLConnection("\(server) \(patience)")
    try connection.execute("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS \(schema(for: path))")
    return connectionString(for: path, on: server)
  }

  /// The connection string for a store whose schema exists.
  static func connectionString(for path: String, on server: String) -> String {
    let schema = schema(for: path)
    return "\(server) \(patience) application_name=\(schema) options='-c search_path=\(schema)'"
  }

  /// While other tests run, connecting may take longer than the usual limit.
  private static let patience = "connect_timeout=60"

  /// Drops the schema of a store. Does nothing for a store in SQLite.
  static func drop(_ path: String, on server: String? = server) {
    guard let server, let connection = try? PostgreSQLConnection("\(server) \(patience)") else { return }
    try? connection.execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS \(schema(for: path)) CASCADE")
  }

  /// Lets time pass for the attempts with passwords that the database counts.
  static func passAttempts(ofStore path: String, seconds: Int) throws {
    guard let server else { return }
    let connection = try PostgreSQLConnection(try database(for: path, on: server))
    try connection.execute("UPDATE attempts SET until = until - \(seconds) * 1000000000::bigint")
  }

  static func schema(for path: String) -> String {
    // The path has the random name of a temporary folder.
    "t" + hexadecimal(Array(sha256(Array(path.utf8)).prefix(12)))
  }
}
