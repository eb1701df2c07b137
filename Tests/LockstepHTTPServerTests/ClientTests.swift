import Glibc
import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@Suite("Clients that are slow, half-closed or disconnected", .timeLimit(.minutes(10)))
struct ClientTests {
  @Test("A half-closed client still gets its responses, also those to pipelined requests")
  func halfClosed() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
      client.finishSending()
      #expect(try await client.response().text == "GET /a ")
      #expect(try await client.response().text == "GET /b ")
      #expect(try await client.isClosed())
    }
  }

  @Test("A handler that waits is cancelled as soon as its client disconnects", arguments: [false, true])
  func gone(byReset: Bool) async throws {
    let gate = Gate()
    try await TestServer.run(respond: { _ in
      await gate.wait()
      return .text("late")
    }) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { gate.waiting == 1 }
      if byReset { client.reset() } else { client.close() }
      await eventually { gate.cancelled == 1 }
      await eventually { server.server.count(.open) == 0 }
    }
  }

  @Test("A handler that works without waiting sees that its task is cancelled")
  func goneWhileWorking() async throws {
    let started = Atomic(false)
    let noticed = Atomic(false)
    try await TestServer.run(respond: { _ in
      started.store(true, ordering: .sequentiallyConsistent)
      await eventually { Task.isCancelled }
      noticed.store(true, ordering: .sequentiallyConsistent)
      return .text("late")
    }) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { started.load(ordering: .sequentiallyConsistent) }
      client.close()
      await eventually { noticed.load(ordering: .sequentiallyConsistent) }
    }
  }

  @Test("A half-closed client that waits gets its response at once")
  func halfClosedWhileWaiting() async throws {
    let gate = Gate()
    try await TestServer.run(respond: { _ in
      await gate.wait()
      return .text("nothing new")
    }) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { gate.waiting == 1 }
      client.finishSending()
      #expect(try await client.response().text == "nothing new")
    }
  }

  @Test("600 clients that send one byte each delay no other client, and get 408 when their time is over")
  func slowLoris() async throws {
    try await TestServer.run(respond: echo) { server in
      var lazy: [RawClient] = []
      for _ in 0..<600 {
        let client = try server.connect()
        try await client.send("G")
        lazy.append(client)
      }
      await eventually { server.server.count(.received) == 600 }
      let diligent = try server.connect()
      try await diligent.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await diligent.response().text == "GET /now ")
      server.advance(by: 10.2)
      for client in lazy {
        #expect(try await client.response().status == 408)
        #expect(try await client.isClosed())
      }
      #expect(server.server.count(.timedOut) == 600)
      // They have had time to read the response. Now the server closes their connections in any
      // case.
      server.advance(by: 2.2)
      await eventually { server.server.count(.open) == 1 }
    }
  }

  @Test("A request line without a version is refused before the head ends, because such a client sends no head")
  func noVersion() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET /\r\n")
      #expect(try await client.response().status == 400)
      client.finishSending()
      #expect(try await client.isClosed())
    }
  }

  @Test("A head that arrives byte by byte times out ten seconds after its first byte")
  func drip() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      for (index, byte) in "GET / HTT".utf8.enumerated() {
        try await client.send([byte])
        await eventually { server.server.count(.received) == index + 1 }
        server.advance(by: 1.2)
      }
      #expect(try await client.response().status == 408)
    }
  }

  @Test("A thousand clients that send part of a request and disconnect leave no connection open")
  func vanish() async throws {
    try await TestServer.run(loops: 2, respond: echo) { server in
      for number in 0..<1000 {
        let client = try server.connect()
        try await client.send(number % 2 == 0 ? "GET / HTTP/1.1\r\nHost: h\r\n\r\n" : "POST / HTTP/1.1\r\nHost:")
        if number % 3 == 0 { client.reset() } else { client.close() }
      }
      await eventually { server.server.count(.accepted) == 1000 }
      await eventually { server.server.count(.open) == 0 }
    }
  }

  @Test("A connection above the limit gets 503 and is closed; when another connection ends, the next one is served")
  func connectionLimit() async throws {
    try await TestServer.run({ $0.connections = 2 }, respond: echo) { server in
      let first = try server.connect()
      let second = try server.connect()
      await eventually { server.server.count(.open) == 2 }
      let third = try server.connect()
      await eventually { server.server.count(.open) == 3 }
      // The server sends the refusal once it has read a request, or after two seconds.
      server.advance(by: 2.2)
      let refusal = try await third.response()
      #expect(refusal.status == 503)
      #expect(refusal.field("Retry-After") == "1")
      #expect(refusal.field("Connection") == "close")
      #expect(try await third.isClosed())
      // The server counts a connection down only after it has closed it.
      await eventually { server.server.count(.open) == 2 }
      // A connection that is being refused does not count towards the limit.
      let waiting = try server.connect()
      await eventually { server.server.count(.open) == 3 }
      first.close()
      await eventually { server.server.count(.open) == 2 }
      let fourth = try server.connect()
      try await fourth.send("GET /four HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await fourth.response().text == "GET /four ")
      try await second.send("GET /two HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await second.response().text == "GET /two ")
      #expect(server.server.count(.refused) == 2)
      try await waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await waiting.response().status == 503)
      // The server has read its request, so it closes the connection at once.
      #expect(try await waiting.isClosed())
    }
  }
}
