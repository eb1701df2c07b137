import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("What bodies hold of the memory is bounded, and given back", .timeLimit(.minutes(10)))
struct BodyMemoryTests {
  private static let half = "PUT /half HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"

  private static func whole(_ count: Int) -> String {
    "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "b", count: count)
  }

  /// A client that has sent 900 bytes of 1,000.
  private func uploading(_ server: TestServer) async throws -> RawClient {
    let client = try server.connect()
    try await client.send(Self.half + String(repeating: "a", count: 900))
    await eventually { server.server.counters.bodyBytes == 900 }
    return client
  }

  @Test("Past the bound a body is refused, whole or in parts, and one that fits goes on", arguments: [false, true])
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
      // Of a whole one nothing is left to come, so what follows can be told apart.
      #expect((refusal.field("Connection") == "close") == inParts)
      #expect(server.server.counters.bodyBytes == 900)
      try await first.send(String(repeating: "a", count: 100))
      #expect(try await first.response().status == 200)
      let third = try server.connect()
      try await third.send(request)
      #expect(try await third.response().status == 200)
      await eventually { server.server.counters.bodyBytes == 0 }
    }
  }

  /// The ways in which a request may end while its body is held.
  enum Ending: CaseIterable {
    case answered, incomplete, reset, slow, streamed, closed
  }

  @Test("However a request ends, what it held is given back, and no more than that", arguments: Ending.allCases)
  func givenBack(ending: Ending) async throws {
    let respond: @Sendable (Request) async throws -> Response = { request in
      let answer = await echo(request)
      guard case .streamed = ending, answer.status == .ok else { return answer }
      return Response(status: .ok, body: .stream { try await $0.write(Array("piece".utf8)) })
    }
    try await TestServer.run({ $0.bodyMemory = 1000 }, respond: respond) { server in
      // Twice: had anything been given back too often, or not, the second would tell.
      for _ in 0..<2 {
        let client = try await uploading(server)
        switch ending {
        case .answered, .streamed:
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
        await eventually { server.server.counters.bodyBytes == 0 }
      }
    }
  }

  @Test("What a request that waits was sent is held as long as it waits, and given back when its client goes")
  func waiting() async throws {
    let bell = WakeSignal()
    try await TestServer.run(answer: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.whole(300))
      await eventually { server.server.counters.bodyBytes == 300 }
      bell.ring()
      #expect(try await client.response().status == 200)
      await eventually { server.server.counters.bodyBytes == 0 }
      try await client.send(Self.whole(400))
      await eventually { server.server.counters.bodyBytes == 400 }
      client.reset()
      await eventually { server.server.counters.bodyBytes == 0 }
    }
  }

  @Test("A server that stops before a handler is done gives back what that held")
  func drained() async throws {
    let gate = Gate()
    let respond: @Sendable (Request) async -> Response = { request in
      let answer = await echo(request)
      // Out of the cancellation's reach.
      await Task.detached { await gate.wait() }.value
      return answer
    }
    try await TestServer.run(respond: respond) { server in
      let client = try server.connect()
      try await client.send(Self.whole(300))
      await eventually { server.server.counters.bodyBytes == 300 && gate.waiting == 1 }
      server.server.drain()
      await eventually { (try? server.connect()) == nil }
      server.advance(by: 9)
      #expect(try await client.isClosed())
      #expect(server.server.counters.bodyBytes == 0)
      gate.open()
    }
  }
}
