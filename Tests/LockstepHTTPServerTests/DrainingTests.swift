import LockstepHTTP
import LockstepHTTPServer
import LockstepTestSupport
import Testing

@Suite("Draining ends every connection in good order", .timeLimit(.minutes(10)))
struct DrainingTests {
  private func start(_ respond: @escaping @Sendable (Request) async -> Response) throws -> (Server, ManualTime) {
    let time = ManualTime()
    let server = try Server(Server.Configuration(), time: time.serverTime)
    try server.start { request in .async { .response(await respond(request)) } }
    return (server, time)
  }

  @Test("Idle connections are closed, new ones refused, and the server ends")
  func idle() async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await client.response()
    server.drain()
    await ended(server)
    #expect(try await client.isClosed())
    #expect(throws: RawClient.Failure.self) { try RawClient(port: server.address.port) }
    #expect(server.counters.open == 0)
  }

  @Test("Who waits is answered at once, with the connection's end")
  func waiting() async throws {
    let gate = Gate()
    let (server, _) = try start { _ in
      await gate.wait()
      return .text("nothing new")
    }
    let client = try RawClient(port: server.address.port)
    try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await eventually { gate.waiting == 1 }
    server.drain()
    let response = try await client.response()
    #expect(response.text == "nothing new")
    #expect(response.field("Connection") == "close")
    await ended(server)
  }

  @Test("A request that is on its way is still read and answered")
  func onItsWay() async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    let half = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab"
    try await client.send(half)
    await eventually { server.counters.received == half.utf8.count }
    server.drain()
    try await client.send("cd")
    let response = try await client.response()
    #expect(response.text == "PUT /x abcd")
    #expect(response.field("Connection") == "close")
    await ended(server)
  }

  @Test("A head that is on its way is still read and answered when the rest comes promptly")
  func headOnItsWay() async throws {
    let (server, time) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET /x HT")
    await eventually { server.counters.received == 9 }
    server.drain()
    for (part, received) in [("TP/1.1\r\n", 17), ("Host: h\r\n", 26)] {
      try await client.send(part)
      await eventually { server.counters.received == received }
      time.advance(by: 0.9)
      server.lookAtClock()
    }
    try await client.send("\r\n")
    let response = try await client.response()
    #expect(response.text == "GET /x ")
    #expect(response.field("Connection") == "close")
    await ended(server)
  }

  @Test("A head of which nothing more comes doesn't keep the server: a second later its client is told")
  func halfHead() async throws {
    let (server, time) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET /x HT")
    await eventually { server.counters.received == 9 }
    server.drain()
    await eventually { (try? RawClient(port: server.address.port)) == nil }
    time.advance(by: 1.2)
    server.lookAtClock()
    #expect(try await client.response().status == 408)
    client.finishSending()
    await ended(server)
    #expect(server.counters.timedOut == 1)
  }

  @Test(
    "A connection on which only empty lines have come since is idle, and closed at once",
    arguments: ["\r\n", "\r"]
  )
  func emptyLines(lines: String) async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    try await client.send(request + lines)
    _ = try await client.response()
    await eventually { server.counters.received == request.utf8.count + lines.utf8.count }
    server.drain()
    await ended(server)
    #expect(try await client.isClosed())
    #expect(server.counters.malformed == 0)
  }

  @Test("Whoever was let into the backlog is served, however many they are and however soon the end comes")
  func backlog() async throws {
    let server = try Server(Server.Configuration(), time: ManualTime().serverTime)
    let clients = try (0..<200).map { _ in try RawClient(port: server.address.port) }
    for client in clients { try await client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n") }
    // Told to stop before it has looked at anybody.
    server.drain()
    try server.start { request in .async { .response(await echo(request)) } }
    for client in clients {
      let response = try await client.response()
      #expect(response.text == "GET /x ")
      #expect(response.field("Connection") == "close")
    }
    await ended(server)
  }

  @Test("A handler that heeds nothing is left behind when the time is over")
  func stuck() async throws {
    let gate = Gate()
    let (server, time) = try start { _ in
      await withTaskCancellationShield { await gate.wait() }
      return .text("too late")
    }
    let client = try RawClient(port: server.address.port)
    try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await eventually { gate.waiting == 1 }
    server.drain()
    // Once it listens no more, its time is running.
    await eventually { (try? RawClient(port: server.address.port)) == nil }
    time.advance(by: 9)
    server.lookAtClock()
    await ended(server)
    #expect(try await client.isClosed())
    gate.open()
  }
}

/// Runs something in a task that the caller's cancellation doesn't reach.
private func withTaskCancellationShield(_ body: @escaping @Sendable () async -> Void) async {
  await Task.detached { await body() }.value
}
