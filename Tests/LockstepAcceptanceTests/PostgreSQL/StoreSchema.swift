import Foundation
import LockstepJSON
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

/// A schema of its own for the store of a test, in the PostgreSQL server that scripts/test starts.
final class StoreSchema: Sendable {
  static let server = ProcessInfo.processInfo.environment["LOCKSTEP_TEST_POSTGRESQL"].flatMap { $0.isEmpty ? nil : $0 }

  let name = "a" + UUID().uuidString.lowercased().filter { $0 != "-" }
  let connectionString: String

  init() throws {
    // While other tests run, connecting may take longer than the usual limit.
    let server = try #require(Self.server) + " connect_timeout=60"
    connectionString = "\(server) application_name=\(name) options='-c search_path=\(name)'"
    try PostgreSQLConnection(server).execute("CREATE SCHEMA \(name)")
  }

  deinit {
    guard let connection = try? PostgreSQLConnection(connectionString) else { return }
    try? connection.execute("SET client_min_messages = warning; DROP SCHEMA \(name) CASCADE")
  }

  /// A connection of the test.
  private func connect() throws -> PostgreSQLConnection { try PostgreSQLConnection(connectionString) }

  /// Runs statements as another program does.
  func execute(_ script: String) throws { try connect().execute(script) }

  func count(_ sql: String) throws -> Int {
    try connect().query(PostgreSQLStatement(sql)).row(0).integer(at: 0)
  }

  /// Ends all connections to the store but this one, as a restart of PostgreSQL does.
  func endConnections() throws {
    _ = try count(
      """
      SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
      WHERE application_name = '\(name)' AND pid <> pg_backend_pid()
      """
    )
  }
}

/// The commands and servers of a test, in one folder.
struct Operator {
  typealias Outcome = (code: LockstepProcess.Ending?, output: String, errors: String)

  let folder: TemporaryDirectory
  /// `LOCKSTEP_DATA` or `LOCKSTEP_STORE`.
  var variables: [String: String]

  init(_ variables: [String: String]) throws {
    self.init(in: try TemporaryDirectory(), variables)
  }

  init(in folder: TemporaryDirectory, _ variables: [String: String]) {
    (self.folder, self.variables) = (folder, variables)
  }

  /// Runs a command with a text as its standard input, and waits until it ends. Repeats a change
  /// that the command has withdrawn, because a server on a busy machine may need more than its 15
  /// seconds.
  func run(_ arguments: String..., input: String = "", with others: [String: String]? = nil) async throws -> Outcome {
    try await run(arguments, input: input, with: others)
  }

  func run(_ arguments: [String], input: String = "", with others: [String: String]? = nil) async throws -> Outcome {
    var outcome = try await runOnce(arguments, input: input, with: others)
    for _ in 0..<5 where outcome.code == .exit(75) && ["user", "collections"].contains(arguments.first) {
      outcome = try await runOnce(arguments, input: input, with: others)
    }
    return outcome
  }

  private func runOnce(_ arguments: [String], input: String, with others: [String: String]?) async throws -> Outcome {
    let name = "command-\(UUID().uuidString.prefix(8))"
    try folder.write(Array(input.utf8), to: "\(name).in")
    let process = try LockstepProcess(
      arguments,
      in: folder,
      name: name,
      redirection: "<'\(folder.file("\(name).in"))'",
      variables: others ?? variables
    )
    return (await process.ended(), process.output, process.errors)
  }

  /// Runs a server, and a body with its port. Then ends the server.
  func serve(_ arguments: [String] = [], _ body: (_ port: Int) async throws -> Void) async throws {
    let server = try LockstepProcess(
      ["serve", "--port", "0", "--threads", "1"] + arguments,
      in: folder,
      name: "server-\(UUID().uuidString.prefix(8))",
      variables: variables
    )
    try await body(try await server.port())
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0), "\(server.errors)")
  }

  /// Sends a request. Repeats one that the server has refused because it has no lease: on a busy
  /// machine, it may lose its lease for a moment. It has done nothing with the request.
  static func ask(
    _ port: Int,
    _ method: String,
    _ target: String,
    _ body: String? = nil,
    token: String? = nil,
    fields: String = ""
  ) async throws -> RawResponse {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: h\r\n\(fields)"
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
    let request = "\(head)\r\n\(body ?? "")"
    var response = try await exchange(port, request)
    try await eventually {
      guard response.status == 503, response.text.contains("cannot reach its database at present") else { return true }
      response = try await exchange(port, request)
      return false
    }
    return response
  }

  private static func exchange(_ port: Int, _ request: String) async throws -> RawResponse {
    let client = try RawClient(port: port)
    defer { client.close() }
    try await client.send(request)
    return try await client.response()
  }

  static func logIn(_ port: Int, _ email: String = "ada@example.com", device: String = "iPad") async throws -> String {
    let body = #"{"email":"\#(email)","password":"correct horse","device":"\#(device)"}"#
    let response = try await ask(port, "POST", "/v1/sessions", body)
    return try #require(try JSON(parsing: response.body)["token"]?.stringValue)
  }
}
