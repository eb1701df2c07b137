import LockstepHTTP
import LockstepHTTPServer
import LockstepTestSupport
import Testing

@Suite("Draining ends every connection in an orderly way", .timeLimit(.minutes(10)))
struct DrainingTests {
  private func start(_ respond: @escaping @Sendable (Request) async -> Response) throws -> (Server, ManualTime) {
    let time = ManualTime()
    let server = try Server(Server.Configuration(), time: time.serverTime)
    try server.start { request in .async { .response(await respond(request)) } }
    return (server, time)
  }

  @Test("Idle connections are closed, new ones are refused, and the server stops")
  func idle() async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await client.response()
    server.drain()
    await ended(server)
    #expect(try await client.isClosed())
    #expect(throws: RawClient.Failure.self) { try RawClient(port: server.address.port) }
    #expect(server.count(.open) == 0)
  }

  @Test("A waiting client gets its response at once, and the connection is closed")
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

  @Test("A request whose body is incomplete is still read and gets its response")
  func onItsWay() async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    let half = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab"
    try await client.send(half)
    await eventually { server.count(.received) == half.utf8.count }
    server.drain()
    try await client.send("cd")
    let response = try await client.response()
    #expect(response.text == "PUT /x abcd")
    #expect(response.field("Connection") == "close")
    await ended(server)
  }

  @Test("An incomplete head is still read and gets its response if the rest comes promptly")
  func headOnItsWay() async throws {
    let (server, time) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET /x HT")
    await eventually { server.count(.received) == 9 }
    server.drain()
    // From now on, only new turns of the loop read the clock.
    await eventually { (try? RawClient(port: server.address.port)) == nil }
    for (part, received) in [("TP/1.1\r\n", 17), ("Host: h\r\n", 26)] {
      try await client.send(part)
      await eventually { server.count(.received) == received }
      // Otherwise the loop could read the next part in a turn that began with the old time.
      await time.advance(by: 0.9) { server.lookAtClock() }
    }
    try await client.send("\r\n")
    let response = try await client.response()
    #expect(response.text == "GET /x ")
    #expect(response.field("Connection") == "close")
    await ended(server)
  }

  @Test("An incomplete head without further bytes delays the shutdown by one second, and then its client gets 408")
  func halfHead() async throws {
    let (server, time) = try start(echo)
    let client = try RawClient(port: server.address.port)
    try await client.send("GET /x HT")
    await eventually { server.count(.received) == 9 }
    server.drain()
    await eventually { (try? RawClient(port: server.address.port)) == nil }
    time.advance(by: 1.2)
    server.lookAtClock()
    #expect(try await client.response().status == 408)
    client.finishSending()
    await ended(server)
    #expect(server.count(.timedOut) == 1)
  }

  @Test(
    "A connection with only empty lines since the last request is idle, and is closed at once",
    arguments: ["\r\n", "\r"]
  )
  func emptyLines(lines: String) async throws {
    let (server, _) = try start(echo)
    let client = try RawClient(port: server.address.port)
    let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    try await client.send(request + lines)
    _ = try await client.response()
    await eventually { server.count(.received) == request.utf8.count + lines.utf8.count }
    server.drain()
    await ended(server)
    #expect(try await client.isClosed())
    #expect(server.count(.malformed) == 0)
  }

  @Test("All clients that the kernel has accepted are served, even if the server must stop at once")
  func backlog() async throws {
    let server = try Server(Server.Configuration(), time: ManualTime().serverTime)
    let clients = try (0..<200).map { _ in try RawClient(port: server.address.port) }
    for client in clients { try await client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n") }
    // The server must stop before it has accepted a connection.
    server.drain()
    try server.start { request in .async { .response(await echo(request)) } }
    for client in clients {
      let response = try await client.response()
      #expect(response.text == "GET /x ")
      #expect(response.field("Connection") == "close")
    }
    await ended(server)
  }

  @Test("When the drain time is over, the server stops without waiting for a handler that ignores cancellation")
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
    // Once the server no longer listens, the drain time is running.
    await eventually { (try? RawClient(port: server.address.port)) == nil }
    time.advance(by: 9)
    server.lookAtClock()
    await ended(server)
    #expect(try await client.isClosed())
    gate.open()
  }
}

/// Runs work in a task that is not cancelled with the caller.
private func withTaskCancellationShield(_ body: @escaping @Sendable () async -> Void) async {
  await Task.detached { await body() }.value
}
