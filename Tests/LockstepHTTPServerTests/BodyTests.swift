import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("A body is read when a handler asks for it, and only up to the limit", .timeLimit(.minutes(10)))
struct BodyTests {
  private static let refusing: @Sendable (Request) async -> Response = { _ in Problem(.notFound).response }

  @Test("A client that expects 100 Continue gets it when the handler reads the body")
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

  @Test(
    "It gets no 100 Continue if the handler does not read the body, and the connection is closed"
  )
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

  @Test("A body with a Content-Length above the limit is refused before it is read")
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

  @Test("A body of exactly the limit is accepted", arguments: [false, true])
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
    "A short body that the handler does not read is discarded, and the next request follows",
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
      #expect(server.server.count(.accepted) == 1)
    }
  }

  @Test("A long body that the handler does not read ends the connection, and the client can still read the response")
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

  @Test("Broken chunks are refused, and the connection is closed")
  func brokenChunks() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
      let response = try await client.response()
      #expect(response.status == 400)
      #expect(response.field("Connection") == "close")
    }
  }

  @Test("Broken chunks in a body that the handler does not read end the connection, and the response says so")
  func brokenUnwantedChunks() async throws {
    try await TestServer.run(responder: { _ in .response(Problem(.notFound).response) }) { server in
      let client = try server.connect()
      try await client.send(
        "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
      )
      let response = try await client.response()
      #expect(response.status == 404)
      #expect(response.field("Connection") == "close")
      client.finishSending()
      #expect(try await client.isClosed())
      #expect(server.server.count(.malformed) == 1)
      #expect(server.server.count(.requests) == 1)
    }
  }

  @Test("An incomplete body is refused, and the half-closed client reads the reason")
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

  @Test("A body that makes no progress times out")
  func stalled() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc"
      try await client.send(head)
      await eventually { server.server.count(.received) == head.utf8.count }
      server.advance(by: 10.2)
      #expect(try await client.response().status == 408)
      #expect(try await client.isClosed())
    }
  }

  @Test("A body that stops after a burst times out as early as one that was always slow")
  func burst() async throws {
    try await TestServer.run({ $0.bodyGrace = .seconds(1) }, respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n"
      try await client.send(Array(head.utf8) + [UInt8](repeating: 0x61, count: 10_240))
      await eventually { server.server.count(.received) == head.utf8.count + 10_240 }
      server.advance(by: 1.2)
      let response = try await client.response()
      #expect(response.status == 408)
      #expect(response.field("Connection") == "close")
      #expect(server.server.count(.timedOut) == 1)
    }
  }

  @Test("A body that is slower than the minimum rate after a burst times out")
  func drip() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n"
      try await client.send(Array(head.utf8) + [UInt8](repeating: 0x61, count: 400_000))
      var sent = head.utf8.count + 400_000
      for _ in 1...4 {
        await eventually { server.server.count(.received) == sent }
        server.advance(by: 6)
        try await client.send("a")
        sent += 1
      }
      #expect(try await client.response().status == 408)
    }
  }

  @Test("A body that pauses for less than the grace time and keeps the minimum rate is read to its end")
  func pausing() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 102400\r\n\r\n"
      try await client.send(head)
      for part in 1...10 {
        try await client.send([UInt8](repeating: 0x61, count: 10_240))
        await eventually { server.server.count(.received) == head.utf8.count + 10_240 * part }
        server.advance(by: 9)
      }
      #expect(try await client.response().status == 200)
    }
  }

  @Test("The rest of a body that the handler does not read must make progress too, or the connection is closed")
  func stalledUnwanted() async throws {
    try await TestServer.run(responder: { _ in .response(Problem(.notFound).response) }) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n")
      #expect(try await client.response().status == 404)
      try await client.send([UInt8](repeating: 0x61, count: 40_000))
      await eventually { server.server.count(.received) > 40_000 }
      server.advance(by: 10.2)
      #expect(try await client.isClosed())
    }
  }

  @Test(
    "A chunk is refused by its announced size",
    arguments: ["b\r\n", "ffffffffffff\r\n", "8\r\nabcdefgh\r\n3\r\n"]
  )
  func announcedChunk(chunk: String) async throws {
    try await TestServer.run({ $0.body = 10 }, respond: echo) { server in
      let client = try server.connect()
      try await client.send("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)")
      #expect(try await client.response().status == 413)
    }
  }

  @Test("A chunk that is too large is refused without 100 Continue, if the client sent it without waiting")
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
      // The acknowledged chunk is in the server's socket. The event loop reads it before the
      // handler continues.
      try await client.waitUntilTaken()
      gate.open()
      #expect(try await client.response().status == 413)
    }
  }

  @Test("A body that arrives at exactly the minimum rate is read to its end")
  func steady() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let head = "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 30720\r\n\r\n"
      try await client.send(head)
      for second in 1...30 {
        try await client.send([UInt8](repeating: 0x61, count: 1024))
        await eventually { server.server.count(.received) == head.utf8.count + 1024 * second }
        server.advance(by: 1)
      }
      #expect(try await client.response().status == 200)
    }
  }
}
