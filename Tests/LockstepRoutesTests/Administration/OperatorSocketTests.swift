import Glibc
import LockstepHTTPServer
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepComposition
@testable import LockstepMaintenance

@Suite(
  "The socket for the operator's commands",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct OperatorSocketTests {
  private static func send(
    _ method: String,
    _ target: String,
    _ body: String = "",
    _ fields: [String] = [],
    to users: ServerFixture
  ) async throws -> (status: Int, json: JSON) {
    let path = try #require(StorePath.socket(of: users.storePath))
    let lines = fields + ["Host: h", "Connection: close", "Content-Length: \(body.utf8.count)"]
    let request = "\(method) \(target) HTTP/1.1\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n\(body)"
    let response = try await valueAside {
      try UnixSocketClient.send(Array(request.utf8), to: path, of: geteuid()) {}
    }
    return (response.status, (try? JSON(parsing: Array(response.body.utf8))) ?? .null)
  }

  private static let ada = #"{"email":"ada@example.com","password":"correct horse"}"#

  @Test("Requests need no token, also if the server has none, and the network still needs one")
  func withoutToken() async throws {
    try await ServerFixture.run { users in
      #expect(try await Self.send("POST", "/v1/admin/users", Self.ada, to: users).status == 201)
      let ada = try await users.logIn()
      _ = try await ada.put("/v1/favorites/a", "{}")
      let favorites = try await Self.send("GET", "/v1/admin/users/\(ada.user)/favorites", to: users)
      #expect(favorites.json["items"]?.arrayValue?.count == 1)
      #expect(try await Self.send("GET", "/v1/admin/status", "", ["Authorization: Bearer x"], to: users).status == 200)
      #expect(try await Self.send("GET", "/v1/me", to: users).status == 401)
      #expect(try await users.ask("GET", "/v1/admin/users").status == 404)
      #expect(users.log.text.contains(#"administration change="add user" id=\#(ada.user) by=administrator"#))
    }
  }

  @Test("The routes of commands are only on the socket")
  func routes() async throws {
    try await ServerFixture.administered { users in
      let declaration = #"{"apply":[{"name":"notes","kind":"list"}]}"#
      let imported = #"[{"email":"ada@example.com"}]"#
      #expect(try await users.admin.post("/v1/admin/collections", declaration).status == 405)
      #expect(try await users.admin.post("/v1/admin/imports", imported).status == 404)
      let declared = try await Self.send("POST", "/v1/admin/collections", declaration, to: users)
      #expect(declared.json["created"] == ["notes"])
      #expect(try await Self.send("POST", "/v1/admin/imports", imported, to: users).json == ["taken": []])
      #expect(try await Self.send("POST", "/v1/admin/imports", imported, to: users).json == ["taken": [0]])
      for body in ["[]", "7", #"[{"email":"nonsense"}]"#] {
        #expect(try await Self.send("POST", "/v1/admin/imports", body, to: users).status == 422)
      }
      #expect(try await Self.send("POST", "/v1/admin/collections", #"{"apply":7}"#, to: users).status == 422)
      #expect(try await users.admin.get("/v1/notes").status != 404)
    }
  }

  @Test("A request that is repeated with its key is made once, and no trace of its password is stored")
  func repetition() async throws {
    try await ServerFixture.run { users in
      let key = ["Idempotency-Key: k"]
      let first = try await Self.send("POST", "/v1/admin/users", Self.ada, key, to: users)
      let record = "SELECT * FROM outsider_keys"
      let recorded = try await users.rows("\(record)")
      #expect(try await Self.send("POST", "/v1/admin/users", Self.ada, key, to: users) == first)
      #expect(try await users.count("users") == 1)
      try await users.restart()
      // The fingerprint does not depend on the body, so it is the same for another password.
      #expect(try await Self.send("POST", "/v1/admin/users", "{}", key, to: users).status == 422)
      let other = #"{"email":"ada@example.com","password":"another password"}"#
      #expect(try await Self.send("POST", "/v1/admin/users", other, key, to: users).json["id"] == first.json["id"])
      #expect(try await users.rows("\(record)") == recorded)
    }
  }

  @Test("An operator gets in when clients have taken all connections and have used up their rate")
  func reservedPlaces() async throws {
    try await ServerFixture.run({
      $0.limits.connections = 1
      $0.addressRate = RateLimit(requests: 1, seconds: 60)
      $0.accessLog = true
    }) { users in
      let client = try users.connect()
      defer { client.close() }
      for _ in 0..<3 { #expect(try await Self.send("GET", "/v1/admin/users", to: users).status == 200) }
      #expect(users.log.requests.contains { $0.contains("client=socket") && $0.contains("path=/v1/admin/users") })
    }
  }

  @Test("A server that cannot make the socket starts, and logs what does not work")
  func noSocket() async throws {
    try await ServerFixture.run { users in
      await users.stop()
      let path = try #require(StorePath.socket(of: users.storePath))
      // The server has removed its socket.
      try #require(mkdir(path, 0o700) == 0)
      try await users.restart()
      #expect(try await users.signUp().get("/v1/me").status == 200)
      #expect(users.log.text.contains("commands such as lockstep user cannot reach this server"))
      await users.stop()
      #expect(rmdir(path) == 0)
    }
  }
}
