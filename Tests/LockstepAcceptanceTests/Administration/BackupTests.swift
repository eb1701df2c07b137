import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("The operator's commands on a store while a server uses it", .timeLimit(.minutes(10)))
struct BackupTests {
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
  }

  /// Runs a command of the binary and waits until it ends.
  private func run(_ arguments: [String], name: String, variables: [String: String] = [:]) async throws -> (
    code: LockstepProcess.Ending?, output: String, errors: String
  ) {
    let process = try LockstepProcess(arguments, in: folder, name: name, variables: variables)
    return (await process.ended(), process.output, process.errors)
  }

  @Test(
    "A backup of a store under constant writes is intact, contains every write acknowledged before it, and can be restored"
  )
  func whileServing() async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    let client = try RawClient(port: port)
    let body = #"{"email":"ada@example.com","password":"correct horse"}"#
    try await client.send("POST /v1/users HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let token = try #require(try JSON(parsing: try await client.response().body)["token"]?.stringValue)
    func put(_ number: Int) async throws {
      let head = "PUT /v1/favorites/\(number) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
      try await client.send("\(head)Content-Length: 2\r\n\r\n{}")
      #expect(try await client.response().status == 201)
    }
    for number in 0..<20 { try await put(number) }
    async let backup = run(
      ["backup", "--data", folder.file("lockstep.db"), "--to", folder.file("b.db")],
      name: "backup"
    )
    for number in 20..<60 { try await put(number) }
    let made = try await backup
    #expect(made.code == .exit(0), "\(made.errors)")
    #expect(made.output.hasPrefix("\(folder.file("b.db")): ") && made.errors.isEmpty)
    // While the server runs, `restore` must not replace the store.
    let restore = ["restore", "--data", folder.file("lockstep.db"), "--from", folder.file("b.db"), "--force"]
    let refused = try await run(restore, name: "refused")
    #expect(refused.code == .exit(75) && refused.errors.contains("is using the store"))
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    let restored = try await run(restore, name: "restore")
    #expect(restored.code == .exit(0), "\(restored.errors)")
    let (second, newPort) = try await LockstepProcess.serving(in: folder, name: "second")
    let reader = try RawClient(port: newPort)
    try await reader.send("GET /v1/favorites HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n\r\n")
    let favorites = try JSON(parsing: try await reader.response().body)
    let count = try #require(favorites["count"]?.intValue)
    #expect((20...60).contains(count))
    let ids = (favorites["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
    #expect(ids == (0..<count).map(String.init), "the first favorites that were written, without a gap")
    second.send(SIGTERM)
    #expect(await second.ended() == .exit(0))
  }

  @Test("`health` ends with 0 while a server runs and with 1 if none does, however it gets the address")
  func health() async throws {
    let (server, port) = try await LockstepProcess.serving(in: folder)
    let ways: [(arguments: [String], variables: [String: String])] = [
      (["--url", "http://127.0.0.1:\(port)"], [:]), (["--url", "http://localhost:\(port)/"], [:]),
      (["--port", "\(port)"], [:]), ([], ["LOCKSTEP_PORT": "\(port)"]),
      (["--url=http://[::ffff:127.0.0.1]:\(port)"], [:]),
    ]
    for (index, way) in ways.enumerated() {
      let arguments = ["health", "--timeout", "5m"] + way.arguments
      var outcome = try await run(arguments, name: "up\(index)", variables: way.variables)
      // A server that cannot write to its store within 1.5 seconds is not ready. A disk may be
      // slower for a moment.
      for _ in 0..<20 where outcome.code != .exit(0) {
        outcome = try await run(arguments, name: "up\(index)", variables: way.variables)
      }
      #expect(outcome.code == .exit(0), "\(way): \(outcome.errors)")
      #expect(outcome.output == "ready\n")
    }
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
    let down = try await run(["health", "--port", "\(port)"], name: "down")
    #expect(down.code == .exit(1) && down.errors.contains("Connection refused"))
  }
}
