import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("Memory for bodies is bounded and released", .timeLimit(.minutes(10)))
struct BodyMemoryTests {
  private static let half = "PUT /half HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"

  private static func whole(_ count: Int) -> String {
    "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "b", count: count)
  }

  /// Returns a client that has sent 900 of 1,000 bytes.
  private func uploading(_ server: TestServer) async throws -> RawClient {
    let client = try server.connect()
    try await client.send(Self.half + String(repeating: "a", count: 900))
    await eventually { server.server.count(.bodyBytes) == 900 }
    return client
  }

  @Test(
    "A body that exceeds the remaining memory gets 503, whether it arrives whole or in parts, and a body that fits is read",
    arguments: [false, true]
  )
  func bound(inParts: Bool) async throws {
    try await TestServer.run({ $0.bodyMemory = 1000 }, respond: echo) { server in
      let first = try await uploading(server)
      let second = try server.connect()
      let request = Self.whole(200)
      try await second.send(inParts ? String(request.dropLast()) : request)
      let refusal = try await second.response()
      #expect(refusal.status == 503)
      #expect(refusal.field("Retry-After") == "1")
      #expect(refusal.text.contains("/problems/overloaded"))
      // If the refused body is complete, the connection can be kept, because the start of the next
      // request is known.
      #expect((refusal.field("Connection") == "close") == inParts)
      #expect(server.server.count(.bodyBytes) == 900)
      try await first.send(String(repeating: "a", count: 100))
      #expect(try await first.response().status == 200)
      let third = try server.connect()
      try await third.send(request)
      #expect(try await third.response().status == 200)
      await eventually { server.server.count(.bodyBytes) == 0 }
    }
  }

  /// The ways in which a request with a partly read body may end.
  enum Ending: CaseIterable {
    case complete, incomplete, reset, slow, streamed, closed
  }

  @Test("However a request ends, exactly the memory of its body is released", arguments: Ending.allCases)
  func givenBack(ending: Ending) async throws {
    let respond: @Sendable (Request) async throws -> Response = { request in
      let response = await echo(request)
      guard case .streamed = ending, response.status == .ok else { return response }
      return Response(status: .ok, body: .stream { try await $0.write(Array("piece".utf8)) })
    }
    try await TestServer.run({ $0.bodyMemory = 1000 }, respond: respond) { server in
      // The second round would show memory that was released twice or not at all.
      for _ in 0..<2 {
        let client = try await uploading(server)
        switch ending {
        case .complete, .streamed:
          try await client.send(String(repeating: "a", count: 100))
          #expect(try await client.response().status == 200)
        case .incomplete:
          client.finishSending()
          #expect(try await client.response().status == 400)
        case .reset: client.reset()
        case .slow:
          server.advance(by: 10.2)
          #expect(try await client.response().status == 408)
        case .closed: client.close()
        }
        await eventually { server.server.count(.bodyBytes) == 0 }
      }
    }
  }

  @Test("A parked request keeps the memory of its body until its response, or until its client disconnects")
  func waiting() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.whole(300))
      // The body is counted before the request is parked.
      await eventually { server.server.count(.bodyBytes) == 300 && bell.waiting == 1 }
      bell.ring()
      #expect(try await client.response().status == 200)
      await eventually { server.server.count(.bodyBytes) == 0 }
      try await client.send(Self.whole(400))
      await eventually { server.server.count(.bodyBytes) == 400 }
      client.reset()
      await eventually { server.server.count(.bodyBytes) == 0 }
    }
  }

  @Test("A server that stops before a handler has ended releases the memory of the handler's body")
  func drained() async throws {
    let gate = Gate()
    let respond: @Sendable (Request) async -> Response = { request in
      let response = await echo(request)
      // A detached task is not cancelled with the handler.
      await Task.detached { await gate.wait() }.value
      return response
    }
    try await TestServer.run(respond: respond) { server in
      let client = try server.connect()
      try await client.send(Self.whole(300))
      await eventually { server.server.count(.bodyBytes) == 300 && gate.waiting == 1 }
      server.server.drain()
      await eventually { (try? server.connect()) == nil }
      server.advance(by: 9)
      #expect(try await client.isClosed())
      #expect(server.server.count(.bodyBytes) == 0)
      gate.open()
    }
  }
}
