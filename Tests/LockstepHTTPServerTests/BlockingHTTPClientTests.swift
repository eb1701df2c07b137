import LockstepHTTP
import LockstepHTTPServer
import Synchronization
import LockstepTestSupport
import Testing

@Suite("The blocking HTTP client", .timeLimit(.minutes(10)))
struct PlainClientTests {
  /// A clock that advances by an hour each time it is read, so that any wait at all times out.
  private static func hasty() -> @Sendable () -> Int64 {
    let now = Atomic<Int64>(0)
    return { now.add(3_600_000_000_000, ordering: .relaxed).newValue }
  }

  private static func get(
    _ port: Int,
    monotonic: @escaping @Sendable () -> Int64 = { 0 }
  ) async -> Result<BlockingHTTPClient.Response, any Error> {
    await withCheckedContinuation { continuation in
      Task {
        await aside {
          continuation.resume(
            returning: Result {
              try BlockingHTTPClient.get(
                "/x",
                host: "127.0.0.1",
                port: port,
                within: .seconds(60),
                monotonic: monotonic
              )
            }
          )
        }
      }
    }
  }

  @Test("It returns the status and the body", arguments: [Status.ok, .serviceUnavailable])
  func response(status: Status) async throws {
    try await LoopbackServer.run { request in
      Response(
        status: status,
        body: .bytes(Array("said of \(request.head.path)".utf8))
      )
    } _: { port in
      let response = try await Self.get(port).get()
      #expect(response.status == status.code)
      #expect(response.body == "said of /x")
    }
  }

  @Test("A refused connection is an error with the address")
  func refused() async throws {
    let server = try RawServer(listens: false)
    let error = #expect(throws: SystemError.self) {
      try BlockingHTTPClient.get("/x", host: "127.0.0.1", port: server.port, within: .seconds(60), monotonic: { 0 })
    }
    #expect(
      "\(error.map { "\($0)" } ?? "")".contains(
        "cannot send a request to http://127.0.0.1:\(server.port)/x: Connection refused"
      )
    )
  }

  @Test("A server that sends nothing makes the request time out")
  func silent() async throws {
    let server = try RawServer()
    let result = await Self.get(server.port, monotonic: Self.hasty())
    let error = #expect(throws: SystemError.self) { try result.get() }
    #expect(error?.reason == "no response within the time limit")
  }

  @Test(
    "A response that is not HTTP is an error",
    arguments: ["", "220 mail.example ESMTP\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 two\r\n"]
  )
  func otherProtocol(text: String) async throws {
    let server = try RawServer()
    async let responding: Void = aside { server.respondOnce(text) }
    let result = await Self.get(server.port)
    await responding
    let error = #expect(throws: SystemError.self) { try result.get() }
    #expect(error?.reason == "the response is not HTTP")
  }
}
