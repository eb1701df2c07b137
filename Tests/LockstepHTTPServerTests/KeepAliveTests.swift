import LockstepHTTP
import LockstepTestSupport
import Testing

@Suite("A connection is kept as long as both sides want it", .timeLimit(.minutes(10)))
struct KeepAliveTests {
  @Test("One connection serves many requests in sequence")
  func reuse() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      for number in 1...50 {
        try await client.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await client.response().text == "GET /\(number) ")
      }
      #expect(server.server.count(.accepted) == 1)
      #expect(server.server.count(.requests) == 50)
    }
  }

  @Test(
    "The connection ends if the request says so",
    arguments: [
      ("HTTP/1.1\r\nHost: h\r\nConnection: close", true), ("HTTP/1.1\r\nHost: h\r\nConnection: TE, Close", true),
      ("HTTP/1.0", true), ("HTTP/1.0\r\nConnection: keep-alive", false), ("HTTP/1.1\r\nHost: h", false),
    ]
  )
  func close(rest: String, closes: Bool) async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET /a \(rest)\r\n\r\n")
      let response = try await client.response()
      #expect(response.status == 200)
      #expect((response.field("Connection") == "close") == closes)
      if closes {
        #expect(try await client.isClosed())
      } else {
        try await client.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await client.response().text == "GET /b ")
      }
    }
  }

  @Test("An idle connection is closed after its timeout, without a response")
  func idle() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().status == 200)
      server.advance(by: 74)
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().status == 200)
      server.advance(by: 74)
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().status == 200)
      server.advance(by: 76)
      #expect(try await client.isClosed())
      #expect(server.server.count(.timedOut) == 1)
    }
  }

  @Test("Empty lines after a request leave the connection idle", arguments: ["\r\n", "\r\n\r\n\r\n", "\r", "\r\n\r"])
  func emptyLines(lines: String) async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      let request = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
      try await client.send(request + lines)
      #expect(try await client.response().text == "GET /a ")
      await eventually { server.server.count(.received) == request.utf8.count + lines.utf8.count }
      // Longer than the time limit of a head.
      server.advance(by: 30)
      try await client.send((lines.hasSuffix("\r") ? "\n" : "") + request)
      #expect(try await client.response().text == "GET /a ")
      try await client.send(lines)
      await eventually { server.server.count(.received) > 2 * request.utf8.count + lines.utf8.count }
      server.advance(by: 76)
      client.finishSending()
      #expect(try await client.isClosed())
      #expect(server.server.count(.malformed) == 0)
    }
  }

  @Test("Too many empty lines are refused, however they are split")
  func onlyEmptyLines() async throws {
    try await TestServer.run({ $0.requestLine = 64 }, respond: echo) { server in
      let client = try server.connect()
      for count in 1...33 {
        try await client.send("\r\n")
        await eventually { server.server.count(.received) == 2 * count }
      }
      #expect(try await client.response().status == 400)
    }
  }

  @Test(
    "The response to a refused HEAD has no body, with or without empty lines before it",
    arguments: ["", "\r\n", "\r\n\r\n"]
  )
  func refusedHead(lines: String) async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("\(lines)HEAD / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n")
      client.finishSending()
      let all = try await client.readToEnd()
      #expect(all.hasPrefix("HTTP/1.1 400 "))
      #expect(all.hasSuffix("\r\n\r\n"))
    }
  }

  @Test("The response to HEAD has the head of GET and no body, and the next request follows")
  func head() async throws {
    try await TestServer.run(respond: { _ in .text("twelve bytes") }) { server in
      let client = try server.connect()
      try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await client.response(toHead: true)
      #expect(response.field("Content-Length") == "12")
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == "twelve bytes")
    }
  }

  @Test("Every response has a date from the given clock")
  func date() async throws {
    try await TestServer.run(respond: echo) { server in
      let client = try server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().field("Date") == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
  }
}
