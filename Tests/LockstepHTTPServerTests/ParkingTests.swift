import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@Suite(
  "A parked request costs no task, and gets its response as soon as there is one",
  .timeLimit(.minutes(10))
)
struct ParkingTests {
  private static let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test("A parked request gets its response when it is woken, and the connection is kept")
  func woken() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: { $0.head.path == "/" ? .parked(bell) : .response(.text("next")) }) { server in
      let client = try server.connect()
      try await client.send(Self.request + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { bell.waiting == 1 }
      bell.ring()
      #expect(try await client.response().text == "woken")
      #expect(try await client.response().text == "next")
      #expect(bell.released == 1)
    }
  }

  @Test("If nothing has changed when it is woken, it is parked again; any thread may wake it at any time")
  func wokenForNothing() async throws {
    let isReady = Atomic(false)
    let bell = WakeSignal { _ in isReady.load(ordering: .sequentiallyConsistent) }
    try await TestServer.run(responder: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      bell.ring()
      await eventually { bell.waiting == 2 }
      isReady.store(true, ordering: .sequentiallyConsistent)
      await withDiscardingTaskGroup { group in
        for _ in 0..<8 { group.addTask { bell.ring() } }
      }
      #expect(try await client.response().text == "woken")
      // A late wake-up has no effect, and does not disturb the next request.
      bell.ring()
      try await client.send(Self.request)
      await eventually { bell.waiting >= 3 }
      bell.ring()
      #expect(try await client.response().status == 200)
    }
  }

  @Test("A parked request gets its response at its deadline")
  func timeOver() async throws {
    let bell = WakeSignal(deadline: 6_000_000_000)
    try await TestServer.run(responder: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      server.advance(by: 5.3)
      #expect(try await client.response().text == "timeOver")
    }
  }

  @Test("If its client disconnects, a parked request ends at once and is released", arguments: [false, true])
  func gone(resets: Bool) async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      if resets { client.reset() } else { client.close() }
      await eventually { server.server.count(.open) == 0 }
      #expect(bell.released == 1)
      bell.ring()
    }
  }

  @Test("If its client half-closes the connection, a parked request gets its response at once")
  func halfClosed() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: { _ in .parked(bell) }) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      client.finishSending()
      #expect(try await client.response().text == "leaving")
      #expect(try await client.isClosed())
    }
  }

  @Test("A server that stops responds to all parked requests")
  func draining() async throws {
    let bell = WakeSignal()
    try await TestServer.run(loops: 2, responder: { _ in .parked(bell) }) { server in
      var clients: [RawClient] = []
      for _ in 0..<50 {
        let client = try server.connect()
        try await client.send(Self.request)
        clients.append(client)
      }
      await eventually { bell.waiting == 50 }
      server.server.drain()
      for client in clients {
        let response = try await client.response()
        #expect(response.text == "leaving")
        #expect(response.field("Connection") == "close")
      }
    }
  }

  @Test("One wake-up of a shared signal responds to 2,000 parked requests")
  func many() async throws {
    let bell = WakeSignal()
    try await TestServer.run(loops: 2, responder: { _ in .parked(bell) }) { server in
      var clients: [RawClient] = []
      for _ in 0..<2000 {
        let client = try server.connect()
        try await client.send(Self.request)
        clients.append(client)
      }
      await eventually { bell.waiting == 2000 }
      bell.ring()
      for client in clients { #expect(try await client.response().text == "woken") }
    }
  }
}

@Suite("An event source sends a body in pieces over a connection that is parked in between", .timeLimit(.minutes(10)))
struct EventSourceTests {
  private static let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  private static func responder(_ bell: WakeSignal) -> @Sendable (Request) -> HandlerResult {
    { _ in .eventStream(Response(status: .ok), bell) }
  }

  @Test("Each piece is one chunk, in order, and the connection is kept after the last piece")
  func pieces() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: Self.responder(bell)) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      bell.tell(.bytes(Array("one,".utf8)))
      bell.tell(.bytes(Array("two".utf8)))
      bell.tell(.end)
      #expect(try await client.response().text == "one,two")
      #expect(bell.released == 1)
      try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response(toHead: true).field("Transfer-Encoding") == "chunked")
    }
  }

  @Test(
    "A piece that is ready at the start is sent without a wake-up, and a silent source is asked for one at its deadline"
  )
  func deadline() async throws {
    let bell = WakeSignal(deadline: 3_000_000_000)
    try await TestServer.run(responder: Self.responder(bell)) { server in
      bell.tell(.bytes(Array("first".utf8)))
      let client = try server.connect()
      try await client.send("GET / HTTP/1.0\r\n\r\n")
      await eventually { bell.waiting == 1 }
      server.advance(by: 2.3)
      // The deadline stays in the past, so the source is asked again and again. One piece is enough
      // for this test.
      await eventually { server.server.count(.sent) > 100 }
      bell.tell(.end)
      let text = try await client.readToEnd()
      #expect(text.contains("first: alive\n"))
    }
  }

  @Test("If its client disconnects, a stream ends at once")
  func gone() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: Self.responder(bell)) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      client.close()
      await eventually { server.server.count(.open) == 0 }
      #expect(bell.released == 1)
    }
  }

  @Test("A server that stops ends the body properly")
  func draining() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: Self.responder(bell)) { server in
      let client = try server.connect()
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      bell.tell(.bytes(Array("all".utf8)))
      server.server.drain()
      #expect(try await client.response().text == "all")
      #expect(try await client.isClosed())
    }
  }

  @Test("If its client does not read, a source is not asked for more, and the connection is closed after its timeout")
  func slow() async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: Self.responder(bell)) { server in
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send(Self.request)
      await eventually { bell.waiting == 1 }
      for _ in 0..<200 { bell.tell(.bytes([UInt8](repeating: 1, count: 128 * 1024))) }
      // The kernel may still take a little output at any moment, which counts as progress. The
      // event loop may also run late, so the clock advances repeatedly.
      await eventually {
        server.advance(by: 31)
        return server.server.count(.open) == 0
      }
      #expect(server.server.count(.sent) < 200 * 128 * 1024)
      #expect(bell.released == 1)
      _ = client
    }
  }
}
