import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("Pipelined requests get their responses in order", .timeLimit(.minutes(10)))
struct PipeliningTests {
  @Test("A thousand requests in one piece get their responses in order")
  func many() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send((0..<1000).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
      for number in 0..<1000 { #expect(try await client.response().text == "GET /\(number) ") }
    }
  }

  @Test("Immediate and asynchronous responses keep their order, however the requests are split")
  func mixed() async throws {
    try await TestServer.run(responder: { request in
      let path = request.head.path
      guard path.hasSuffix("3") else { return .response(.text(path)) }
      return .async {
        await Task.yield()
        return .response(.text(path))
      }
    }) { server in
      let requests = (0..<200).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined()
      for size in [requests.utf8.count, 1000, 61] {
        let client = try server.connect()
        var rest = Substring(requests)
        while !rest.isEmpty {
          try await client.send(String(rest.prefix(size)))
          rest = rest.dropFirst(size)
        }
        for number in 0..<200 { #expect(try await client.response().text == "/\(number)") }
      }
    }
  }

  @Test("A client that pipelines without end does not starve other clients")
  func fairness() async throws {
    try await TestServer.run(responder: { .response(.text($0.head.path)) }) { server in
      let greedy = try server.connect()
      let modest = try server.connect()
      try await modest.send("GET /before HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await modest.response().text == "/before")
      // These are more requests in one piece than the server handles in one turn. It handles the
      // rest without another event.
      try await greedy.send((0..<1000).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
      try await modest.send("GET /after HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await modest.response().text == "/after")
      for number in 0..<1000 { #expect(try await greedy.response().text == "/\(number)") }
    }
  }

  @Test("Pipelined requests with both kinds of bodies are read correctly byte by byte")
  func bodies() async throws {
    let requests =
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
      + "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nde\r\n1\r\nf\r\n0\r\nT: v\r\n\r\n"
      + "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      for byte in requests.utf8 { try await client.send([byte]) }
      #expect(try await client.response().text == "POST /a abc")
      #expect(try await client.response().text == "POST /b def")
      #expect(try await client.response().text == "GET /c ")
    }
  }

  @Test("A ready response does not wait for the next request's response")
  func noHoldBack() async throws {
    let gate = Gate()
    try await TestServer.run(respond: { request in
      if request.head.path == "/wait" { await gate.wait() }
      return .text(request.head.path)
    }) { server in
      let client = try server.connect()
      try await client.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\nGET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == "/now")
      gate.open()
      #expect(try await client.response().text == "/wait")
    }
  }

  @Test("A fast request does not overtake the slow request before it")
  func order() async throws {
    let gate = Gate()
    try await TestServer.run(respond: { request in
      if request.head.path == "/slow" { await gate.wait() }
      return .text(request.head.path)
    }) { server in
      let client = try server.connect()
      try await client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n")
      await eventually { gate.waiting == 1 }
      #expect(server.server.count(.requests) == 1)
      gate.open()
      #expect(try await client.response().text == "/slow")
      #expect(try await client.response().text == "/fast")
    }
  }

  @Test("Bytes after a malformed request are not read as a request")
  func malformed() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await client.response()
      #expect(response.status == 400)
      #expect(response.field("Connection") == "close")
      #expect(response.field("Content-Type") == "application/problem+json")
      #expect(try await client.isClosed())
      #expect(server.server.count(.requests) == 0)
      #expect(server.server.count(.malformed) == 1)
    }
  }
}
