import Glibc
import LockstepTestSupport
import Testing

@Suite("Signals stop the server as an operator expects", .timeLimit(.minutes(10)))
struct SignalTests {
  @Test(
    "After the first signal, the server completes running requests and exits with 0",
    arguments: [SIGTERM, SIGINT]
  )
  func drains(signal: Int32) async throws {
    // With one event loop, the server reads the requests of all connections in the order of
    // sending.
    let (process, port) = try await LockstepProcess.serving(
      ["--threads", "1", "--drain-timeout", "1h", "--body-grace", "1h"],
      in: TemporaryDirectory()
    )
    let idle = try RawClient(port: port)
    try await idle.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await idle.response().status == 200)
    let half = try RawClient(port: port)
    try await half.send("POST /v1/users HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{")
    try await idle.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    // This request was sent after the half one. Its response shows that the server has read the
    // half one.
    #expect(try await idle.response().status == 200)
    process.send(signal)
    #expect(try await idle.isClosed())
    #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    try await half.send("}")
    let response = try await half.response()
    #expect(response.status == 422)
    #expect(response.field("Connection") == "close")
    #expect(await process.ended() == .exit(0))
    #expect(process.errors.contains("INFO draining") && process.errors.hasSuffix("INFO stopped\n"))
  }

  @Test(
    "A signal ends a server that waits for its database at once, and it exits with 0",
    .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { StoreSchema.server != nil },
    arguments: [SIGTERM, SIGINT]
  )
  func waiting(signal: Int32) async throws {
    // It accepts the connection, and does not respond.
    let database = try RawServer()
    let store = "host=127.0.0.1 port=\(database.port) dbname=none user=none connect_timeout=3600"
    let process = try LockstepProcess(["serve", "--port", "0", "--store", store], in: TemporaryDirectory())
    await eventually { database.hasClient }
    process.send(signal)
    #expect(await process.ended() == .exit(0))
    #expect(process.errors.hasSuffix("INFO stopped before the server was ready\n"), "\(process.errors)")
  }

  @Test("After the second signal, the server exits at once", arguments: [SIGTERM, SIGINT])
  func second(signal: Int32) async throws {
    let (process, port) = try await LockstepProcess.serving(
      ["--threads", "1", "--drain-timeout", "1h", "--body-grace", "1h"],
      in: TemporaryDirectory()
    )
    let half = try RawClient(port: port)
    try await half.send("POST /v1/users HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{")
    let other = try RawClient(port: port)
    try await other.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await other.response()
    process.send(signal)
    #expect(try await other.isClosed())
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(130))
    #expect(try await half.isClosed())
  }

  @Test(
    "A signal stops the server even if its log cannot be written or is not read",
    arguments: ["2>&-", "2>/dev/full", "1>&- 2>&-", "2>&9"]
  )
  func unreadLog(redirection: String) async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let flags = fcntl(ends[1], F_GETFL)
    _ = fcntl(ends[1], F_SETFL, flags | O_NONBLOCK)
    let bytes = [UInt8](repeating: 0x78, count: 4096)
    while write(ends[1], bytes, bytes.count) > 0 {}
    _ = fcntl(ends[1], F_SETFL, flags)
    let folder = try TemporaryDirectory()
    let process = try LockstepProcess(
      ["serve", "--port", "0", "--access-log", "--data", folder.file("lockstep.db")],
      in: folder,
      redirection: redirection,
      descriptor: ends[1]
    )
    if redirection.hasPrefix("2") {
      let client = try RawClient(port: try await process.port())
      for _ in 0..<10 {
        try await client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await client.response().status == 200)
      }
    }
    // The server makes the store after it has installed its signal handlers.
    await eventually { access(folder.file("lockstep.db"), F_OK) == 0 }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
