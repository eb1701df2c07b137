import Glibc
import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@Suite("Clients that are slow, half gone or gone", .timeLimit(.minutes(10)))
struct ClientTests {
  @Test("A half-closed client still gets its answers, also those to pipelined requests")
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

  @Test("A handler that waits learns at once that its client went away", arguments: [false, true])
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
      await eventually { server.server.counters.open == 0 }
    }
  }

  @Test("A handler that doesn't wait is told too")
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

  @Test("A half-closed client that waits is answered at once with what there is")
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

  @Test("600 clients that send a byte and no more keep nobody waiting, and are told when their time is over")
  func slowLoris() async throws {
    try await TestServer.run(respond: echo) { server in
      var lazy: [RawClient] = []
      for _ in 0..<600 {
        let client = try server.connect()
        try await client.send("G")
        lazy.append(client)
      }
      await eventually { server.server.counters.received == 600 }
      let diligent = try server.connect()
      try await diligent.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await diligent.response().text == "GET /now ")
      server.advance(by: 10.2)
      for client in lazy {
        #expect(try await client.response().status == 408)
        #expect(try await client.isClosed())
      }
      #expect(server.server.counters.timedOut == 600)
      // They had time to read that; now they are closed whether they did or not.
      server.advance(by: 2.2)
      await eventually { server.server.counters.open == 1 }
    }
  }

  @Test("A request line without a version is refused before the head ends: its client never ends one")
  func noVersion() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET /\r\n")
      #expect(try await client.response().status == 400)
      client.finishSending()
      #expect(try await client.isClosed())
    }
  }

  @Test("A head that drips in is given up ten seconds after its first byte, however it drips")
  func drip() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      for (index, byte) in "GET / HTT".utf8.enumerated() {
        try await client.send([byte])
        await eventually { server.server.counters.received == index + 1 }
        server.advance(by: 1.2)
      }
      #expect(try await client.response().status == 408)
    }
  }

  @Test("A thousand clients that come, ask half a thing and vanish leave nothing behind")
  func vanish() async throws {
    try await TestServer.run(loops: 2, respond: echo) { server in
      for number in 0..<1000 {
        let client = try server.connect()
        try await client.send(number % 2 == 0 ? "GET / HTTP/1.1\r\nHost: h\r\n\r\n" : "POST / HTTP/1.1\r\nHost:")
        if number % 3 == 0 { client.reset() } else { client.close() }
      }
      await eventually { server.server.counters.accepted == 1000 }
      await eventually { server.server.counters.open == 0 }
    }
  }

  @Test("One connection too many is told so with 503 and closed; when one goes, the next is served")
  func connectionLimit() async throws {
    try await TestServer.run({ $0.connections = 2 }, respond: echo) { server in
      let first = try server.connect()
      let second = try server.connect()
      await eventually { server.server.counters.open == 2 }
      let third = try server.connect()
      await eventually { server.server.counters.open == 3 }
      // It's told when it has asked, or two seconds later.
      server.advance(by: 2.2)
      let refusal = try await third.response()
      #expect(refusal.status == 503)
      #expect(refusal.field("Retry-After") == "1")
      #expect(refusal.field("Connection") == "close")
      #expect(try await third.isClosed())
      // Another one is still there, being told; it takes nobody's place.
      let waiting = try server.connect()
      await eventually { server.server.counters.open == 3 }
      first.close()
      await eventually { server.server.counters.open == 2 }
      let fourth = try server.connect()
      try await fourth.send("GET /four HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await fourth.response().text == "GET /four ")
      try await second.send("GET /two HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await second.response().text == "GET /two ")
      #expect(server.server.counters.refused == 2)
      try await waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await waiting.response().status == 503)
      // Its request was read, so nothing is waited for.
      #expect(try await waiting.isClosed())
    }
  }
}
