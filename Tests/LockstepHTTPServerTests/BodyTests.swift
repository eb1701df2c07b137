import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("Bodies are taken when a handler asks, and only so much of them", .timeLimit(.minutes(10)))
struct BodyTests {
  private static let refusing: @Sendable (Request) async -> Response = { _ in Problem(.notFound).response }

  @Test("A client that expects 100 Continue is told to go on when the body is wanted")
  func expectContinue() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
      #expect(try await client.response().status == 100)
      try await client.send("ok")
      #expect(try await client.response().text == "PUT /x ok")
      try await client.send("GET /y HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == "GET /y ")
    }
  }

  @Test("It is not told to when nobody wants the body, and the connection ends: the body may or may not follow")
  func expectRefused() async throws {
    try await TestServer.run(respond: Self.refusing) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
      let response = try await client.response()
      #expect(response.status == 404)
      #expect(response.field("Connection") == "close")
      client.finishSending()
      #expect(try await client.isClosed())
    }
  }

  @Test("A body larger than the limit is refused before it's read, by its announced length")
  func tooLargeAnnounced() async throws {
    try await TestServer.run({ $0.body = 10 }, respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n")
      #expect(try await client.response().status == 413)
    }
  }

  @Test("A chunked body is refused as soon as it is larger than the limit")
  func tooLargeChunked() async throws {
    try await TestServer.run({ $0.body = 10 }, respond: echo) { server in
      let client = try server.connect()
      try await client.send(
        "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nghijkl\r\n"
      )
      let response = try await client.response()
      #expect(response.status == 413)
      #expect(response.field("Connection") == "close")
    }
  }

  @Test("A body of exactly the limit is taken", arguments: [false, true])
  func exactlyTheLimit(chunked: Bool) async throws {
    try await TestServer.run({ $0.body = 10 }, respond: echo) { server in
      let client = try server.connect()
      let framing = chunked ? "Transfer-Encoding: chunked" : "Content-Length: 10"
      let body = chunked ? "a\r\n0123456789\r\n0\r\n\r\n" : "0123456789"
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n\(body)")
      #expect(try await client.response().text == "PUT /x 0123456789")
    }
  }

  @Test(
    "A short body that nobody wanted is read and forgotten, and the next request follows",
    arguments: [false, true]
  )
  func discarded(chunked: Bool) async throws {
    try await TestServer.run(respond: Self.refusing) { server in
      let client = try server.connect()
      let framing = chunked ? "Transfer-Encoding: chunked" : "Content-Length: 10"
      let body = chunked ? "a\r\n0123456789\r\n0\r\n\r\n" : "0123456789"
      for _ in 0..<3 {
        try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n\(body)")
        #expect(try await client.response().status == 404)
      }
      #expect(server.server.counters.accepted == 1)
    }
  }

  @Test("A long body that nobody wanted ends the connection, and the client can still read its answer")
  func tooLongToDiscard() async throws {
    try await TestServer.run(respond: Self.refusing) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
      try await client.send([UInt8](repeating: 0x61, count: 50_000))
      let response = try await client.response()
      #expect(response.status == 404)
      #expect(response.field("Connection") == "close")
    }
  }

  @Test("Broken chunks are refused and the connection ends")
  func brokenChunks() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
      let response = try await client.response()
      #expect(response.status == 400)
      #expect(response.field("Connection") == "close")
    }
  }

  @Test("Broken chunks that nobody wanted end the connection too, and the answer says so")
  func brokenUnwantedChunks() async throws {
    try await TestServer.run(answer: { _ in .response(Problem(.notFound).response) }) { server in
      let client = try server.connect()
      try await client.send(
        "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
      )
      let response = try await client.response()
      #expect(response.status == 404)
      #expect(response.field("Connection") == "close")
      client.finishSending()
      #expect(try await client.isClosed())
      #expect(server.server.counters.malformed == 1)
      #expect(server.server.counters.requests == 1)
    }
  }

  @Test("A body that stops half way is refused, and the half-closed client reads why")
  func incomplete() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
      client.finishSending()
      let response = try await client.response()
      #expect(response.status == 400)
      #expect(response.text.contains("ended before the body did"))
    }
  }

  @Test("A body that makes no progress is given up")
  func stalled() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc"
      try await client.send(head)
      await eventually { server.server.counters.received == head.utf8.count }
      server.advance(by: 10.2)
      #expect(try await client.response().status == 408)
      #expect(try await client.isClosed())
    }
  }

  @Test("What came before buys no time: a body that comes in a burst and then stops is given up as soon")
  func burst() async throws {
    try await TestServer.run({ $0.bodyGrace = .seconds(1) }, respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n"
      try await client.send(Array(head.utf8) + [UInt8](repeating: 0x61, count: 10_240))
      await eventually { server.server.counters.received == head.utf8.count + 10_240 }
      server.advance(by: 1.2)
      let answer = try await client.response()
      #expect(answer.status == 408)
      #expect(answer.field("Connection") == "close")
      #expect(server.server.counters.timedOut == 1)
    }
  }

  @Test("A burst, and then a byte now and then: that is less than the rate, and the body is given up")
  func drip() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n"
      try await client.send(Array(head.utf8) + [UInt8](repeating: 0x61, count: 400_000))
      var sent = head.utf8.count + 400_000
      for _ in 1...4 {
        await eventually { server.server.counters.received == sent }
        server.advance(by: 6)
        try await client.send("a")
        sent += 1
      }
      #expect(try await client.response().status == 408)
    }
  }

  @Test("A body that pauses for less than the grace and brings enough in between is taken to its end")
  func pausing() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 102400\r\n\r\n"
      try await client.send(head)
      for part in 1...10 {
        try await client.send([UInt8](repeating: 0x61, count: 10_240))
        await eventually { server.server.counters.received == head.utf8.count + 10_240 * part }
        server.advance(by: 9)
      }
      #expect(try await client.response().status == 200)
    }
  }

  @Test("The rest of a body that nobody wanted must make progress too, or the connection ends")
  func stalledUnwanted() async throws {
    try await TestServer.run(answer: { _ in .response(Problem(.notFound).response) }) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n")
      #expect(try await client.response().status == 404)
      try await client.send([UInt8](repeating: 0x61, count: 40_000))
      await eventually { server.server.counters.received > 40_000 }
      server.advance(by: 10.2)
      #expect(try await client.isClosed())
    }
  }

  @Test(
    "A chunk is refused by the size that it announces",
    arguments: ["b\r\n", "ffffffffffff\r\n", "8\r\nabcdefgh\r\n3\r\n"]
  )
  func announcedChunk(chunk: String) async throws {
    try await TestServer.run({ $0.body = 10 }, respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)")
      #expect(try await client.response().status == 413)
    }
  }

  @Test("It's refused before the client is told to go on, where it didn't wait for that")
  func announcedChunkBeforeContinue() async throws {
    let gate = Gate()
    try await TestServer.run(
      { $0.body = 10 },
      respond: { request in
        await gate.wait()
        return await echo(request)
      }
    ) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
      try await client.send(head)
      await eventually { gate.waiting == 1 }
      try await client.send("b\r\n")
      // Once it's acknowledged it lies in the server's socket, and the loop hears of it before the handler goes on.
      try await client.waitUntilTaken()
      gate.open()
      #expect(try await client.response().status == 413)
    }
  }

  @Test("A body that comes at the least pace is taken to its end")
  func steady() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30720\r\n\r\n"
      try await client.send(head)
      for second in 1...30 {
        try await client.send([UInt8](repeating: 0x61, count: 1024))
        await eventually { server.server.counters.received == head.utf8.count + 1024 * second }
        server.advance(by: 1)
      }
      #expect(try await client.response().status == 200)
    }
  }
}
