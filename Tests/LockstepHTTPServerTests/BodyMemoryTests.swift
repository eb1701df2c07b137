import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepHTTPServer

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

  @Test("An owner may hold at most half of the memory for bodies that other owners leave")
  func shares() async throws {
    // The query names the owner.
    let time = ManualTime()
    var configuration = Server.Configuration()
    configuration.limits.bodyMemory = 1000
    let server = TestServer(server: try Server(configuration, time: time.serverTime), time: time)
    try server.server.start(noteRefusal: { _ in }, outputOwner: { head, _ in head.query }) { _ in
      { request in .async { .response(await echo(request)) } }
    }
    var (clients, held): ([RawClient], Int) = ([], 0)
    // Sends a part of a body, and expects that it stays in memory.
    func upload(_ owner: String, _ count: Int) async throws {
      let client = try server.connect()
      try await client.send("PUT /x?\(owner) HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
      try await client.send(String(repeating: "a", count: count))
      held += count
      await eventually { server.server.count(.bodyBytes) == held }
      clients.append(client)
    }
    func expectRefusal(_ owner: String, _ count: Int) async throws {
      let client = try server.connect()
      let body = String(repeating: "a", count: count)
      try await client.send("PUT /x?\(owner) HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n\(body)")
      #expect(try await client.response().status == 503, "\(owner)")
    }
    // The owners of the first half are not looked up.
    try await upload("eve", 400)
    try await upload("eve", 300)
    try await expectRefusal("eve", 100)
    try await upload("ann", 100)
    try await expectRefusal("ann", 100)
    try await upload("ben", 50)
    for client in clients { client.close() }
    await eventually { server.server.count(.bodyBytes) == 0 }
    (clients, held) = ([], 0)
    try await upload("eve", 400)
    try await upload("eve", 300)
    for client in clients { client.close() }
    await stop(server.server)
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
