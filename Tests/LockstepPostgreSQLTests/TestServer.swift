import Glibc
import LockstepPostgreSQL
import Testing

/// The PostgreSQL server of the tests. scripts/test starts one.
enum TestServer {
  /// The connection string of a superuser, from the environment.
  static let connectionString: String? = getenv("LOCKSTEP_TEST_POSTGRESQL").map { String(cString: $0) }

  static let isAvailable = connectionString.map { !$0.isEmpty } ?? false

  static let reason: Comment = "LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server"

  /// Beside all other tests, connecting may take long.
  static let options: PostgreSQLConnection.Options = {
    var options = PostgreSQLConnection.Options()
    options.connectTimeout = .seconds(60)
    return options
  }()

  static func connect(
    adding parameters: String = "",
    with options: PostgreSQLConnection.Options = TestServer.options
  ) throws -> PostgreSQLConnection {
    try PostgreSQLConnection("\(connectionString ?? "") \(parameters)", options: options)
  }
}

extension PostgreSQLConnection {
  /// The values of the only row.
  func values(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> [PostgreSQLValue] {
    let result = try query(PostgreSQLStatement(sql), values)
    try #require(result.rowCount == 1)
    let row = result.row(0)
    var found: [PostgreSQLValue] = []
    for column in 0..<row.columnCount { found.append(try row.value(at: column)) }
    return found
  }

  /// The first column of all rows.
  func column(_ sql: String, _ values: [PostgreSQLValue] = []) throws -> [PostgreSQLValue] {
    var found: [PostgreSQLValue] = []
    try forEachRow(PostgreSQLStatement(sql), values) { row in
      found.append(try row.value(at: 0))
      return true
    }
    return found
  }
}

/// The error of the body.
func postgreSQLError(
  sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> Void
) -> PostgreSQLError? {
  #expect(throws: PostgreSQLError.self, sourceLocation: sourceLocation) { try body() }
}
