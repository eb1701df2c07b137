import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@Suite("Responses are sent no faster than clients read them", .timeLimit(.minutes(10)))
struct OutputTests {
  /// Bytes in which a piece in the wrong place shows: the pattern has the prime length 251.
  private static func bytes(_ count: Int) -> [UInt8] {
    var bytes = (0..<251).map { UInt8($0) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes.prefix(count))
  }

  @Test("A response larger than every buffer arrives complete at a client that reads late", arguments: [1, 3])
  func large(requests: Int) async throws {
    let body = Self.bytes(5 * 1024 * 1024)
    try await TestServer.run(respond: { _ in Response(status: .ok, body: .bytes(body)) }) { server in
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: requests))
      await eventually { server.server.count(.sent) > 0 }
      for _ in 0..<requests { #expect(try await client.response().body == body) }
    }
  }

  @Test("A streaming handler waits for a client that does not read, and holds little memory")
  func backPressure() async throws {
    let piece = Self.bytes(64 * 1024)
    let written = Atomic(0)
    try await TestServer.run(respond: { _ in
      Response(
        status: .ok,
        body: .stream { writer in
          for _ in 0..<150 {
            try await writer.write(piece)
            written.add(1, ordering: .sequentiallyConsistent)
          }
        }
      )
    }) { server in
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      // The kernel's buffers are full. The response to another client shows that the event loop is
      // idle.
      await eventually { server.server.count(.sent) > 0 }
      let other = try server.connect()
      try await other.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await other.response(toHead: true)
      #expect(written.load(ordering: .sequentiallyConsistent) < 150)
      let response = try await client.response()
      #expect(response.body.count == 150 * piece.count)
      #expect(response.body.suffix(piece.count).elementsEqual(piece))
      #expect(written.load(ordering: .sequentiallyConsistent) == 150)
    }
  }

  @Test(
    "A client that keeps reading slowly gets the complete response, however long it takes",
    arguments: [false, true]
  )
  func slow(isStreamed: Bool) async throws {
    let body = Self.bytes(12 * 1024 * 1024)
    try await TestServer.run(responder: { _ in
      .response(Response(status: .ok, body: isStreamed ? .stream { try await $0.write(body) } : .bytes(body)))
    }) { server in
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send("GET / HTTP/1.0\r\n\r\n")
      await eventually { server.server.count(.sent) > 0 }
      // Each step is most of the time that a client may go without reading. Together they are many
      // times that.
      for _ in 0..<12 {
        try await client.receive(atLeast: 512 * 1024)
        server.advance(by: 20)
        // The event loop has read the clock when it responds to this request.
        let other = try server.connect()
        try await other.send("HEAD / HTTP/1.0\r\n\r\n")
        _ = try await other.response(toHead: true)
      }
      #expect(try await client.countToEnd() > body.count)
      #expect(server.server.count(.timedOut) == 0)
    }
  }

  @Test("A client that does not read is disconnected after its timeout, and the handler's task is cancelled")
  func stall() async throws {
    let failed = Atomic(false)
    try await TestServer.run(respond: { _ in
      Response(
        status: .ok,
        body: .stream { writer in
          do {
            while true { try await writer.write([UInt8](repeating: 1, count: 1024 * 1024)) }
          } catch {
            failed.store(true, ordering: .sequentiallyConsistent)
            throw error
          }
        }
      )
    }) { server in
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { server.server.count(.sent) > 0 }
      // The kernel may still take a little output at any moment, which counts as progress. The
      // event loop may also run late, so the clock advances repeatedly.
      await eventually {
        server.advance(by: 31)
        return failed.load(ordering: .sequentiallyConsistent)
      }
      await eventually { server.server.count(.open) == 0 }
      _ = client
    }
  }

  @Test("A streamed response is chunked for HTTP/1.1 and ends with the connection for HTTP/1.0")
  func streamed() async throws {
    try await TestServer.run(respond: { _ in
      Response(
        status: .ok,
        body: .stream { writer in
          try await writer.write(Array("one,".utf8))
          try await writer.write([])
          try await writer.write(Array("two".utf8))
        }
      )
    }) { server in
      let new = try server.connect()
      try await new.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await new.response().text == "one,two")
      try await new.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await new.response(toHead: true).field("Transfer-Encoding") == "chunked")
      let old = try server.connect()
      try await old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      #expect(try await old.readToEnd().hasSuffix("\r\n\r\none,two"))
    }
  }

  @Test("A stream that fails is cut off without its last chunk, so that the client can see that it is incomplete")
  func cut() async throws {
    try await TestServer.run(respond: { _ in
      Response(
        status: .ok,
        body: .stream { writer in
          try await writer.write(Array("half".utf8))
          throw CancellationError()
        }
      )
    }) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.readToEnd().hasSuffix("4\r\nhalf\r\n"))
    }
  }
}
