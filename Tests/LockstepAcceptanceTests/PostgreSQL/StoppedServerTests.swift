import Glibc
import LockstepTestSupport
import Testing

@Suite(
  "A server on PostgreSQL that stood still",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { StoreSchema.server != nil },
  .serialized,
  .timeLimit(.minutes(10))
)
struct StoppedServerTests {
  /// Sends a request to a server that may stand still.
  private static func send(_ target: String, _ token: String, _ port: Int) async throws -> RawClient {
    let client = try RawClient(port: port)
    try await client.send("GET \(target) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n\r\n")
    return client
  }

  @Test("A server that stood still for longer than its lease does not respond from its old memory")
  func stopped() async throws {
    let schema = try StoreSchema()
    let commands = try Operator(["LOCKSTEP_STORE": schema.connectionString])
    func start(_ name: String) throws -> LockstepProcess {
      let arguments = ["serve", "--port", "0", "--threads", "1"]
      return try LockstepProcess(arguments, in: commands.folder, name: name, variables: commands.variables)
    }
    let (first, second) = (try start("first"), try start("second"))
    let ports = [try await first.port(), try await second.port()]
    let added = try await commands.run("user", "add", "ada@example.com", input: "correct horse\n")
    #expect(added.code == .exit(0), "\(added.errors)")
    let (kept, ended) = (try await Operator.logIn(ports[0]), try await Operator.logIn(ports[0], device: "old"))
    for token in [kept, ended] {
      // The second server has the state and both sessions in memory.
      #expect(try await Operator.ask(ports[1], "GET", "/v1/favorites", token: token).status == 200)
    }
    second.send(SIGSTOP)
    #expect(try await Operator.ask(ports[0], "PUT", "/v1/favorites/new", "{}", token: kept).status == 201)
    // This response comes when the lease of the second server is over.
    let logOut = try await Operator.ask(ports[0], "DELETE", "/v1/sessions/current", token: ended)
    #expect(logOut.status == 204)
    let waiting = [
      try await Self.send("/v1/favorites", ended, ports[1]), try await Self.send("/v1/me", ended, ports[1]),
      try await Self.send("/v1/favorites", kept, ports[1]), try await Self.send("/v1/changes", kept, ports[1]),
    ]
    await eventually { first.errors.contains("another node has lost its lease") }
    second.send(SIGCONT)
    for client in waiting[..<2] { #expect([401, 503].contains(try await client.response().status)) }
    for client in waiting[2...] {
      let response = try await client.response()
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(response.status == 503 || response.status == 200 && text.contains("\"new\""), "\(text)")
    }
    await eventually {
      (try? await Operator.ask(ports[1], "GET", "/v1/favorites", token: kept).status) == 200
    }
    let favorites = try await Operator.ask(ports[1], "GET", "/v1/favorites", token: kept)
    #expect(String(decoding: favorites.body, as: UTF8.self).contains("\"new\""))
    #expect(try await Operator.ask(ports[1], "GET", "/v1/favorites", token: ended).status == 401)
    // The logs say which server stood still, and do not blame the database.
    await eventually { second.errors.contains("this node stood still") }
    await eventually { first.errors.contains("the other node has its lease again") }
    #expect(!second.errors.contains(" ERROR "), "\(second.errors)")
    for server in [first, second] {
      server.send(SIGTERM)
      #expect(await server.ended() == .exit(0), "\(server.errors)")
    }
  }
}
