import Glibc
import LockstepHTTP
import LockstepHTTPServer
import Synchronization
import LockstepTestSupport
import Testing

@Suite("Handlers run on the event loop of their connection", .timeLimit(.minutes(10)))
struct LoopTests {
  @Test("After awaiting work elsewhere, a handler continues on its event loop")
  func comesBack() async throws {
    try await TestServer.run(
      loops: 2,
      respond: { _ in
        let before = pthread_self()
        let there = await Task.detached { pthread_self() }.value
        let after = pthread_self()
        return .text("\(before == after) \(before != there)")
      }
    ) { server in
      for _ in 0..<50 {
        let client = try server.connect()
        try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await client.response().text == "true true")
      }
    }
  }

  @Test("Reading a body and streaming a response work from another executor")
  func doors() async throws {
    try await TestServer.run(respond: { request in
      let body = await Task.detached { (try? await request.body.collect()) ?? [] }.value
      return Response(
        status: .ok,
        body: .stream { writer in
          try await Task.detached { try await writer.write(body + body) }.value
        }
      )
    }) { server in
      let client = try server.connect()
      for _ in 0..<100 {
        try await client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
        try await client.send("abc")
        #expect(try await client.response().text == "abcabc")
      }
    }
  }

  @Test("Every event loop gets connections, and the sum of their counters is correct")
  func spread() async throws {
    try await TestServer.run(loops: 2, respond: { .text(String($0.loop)) }) { server in
      var seen: Set<String> = []
      for _ in 0..<200 {
        let client = try server.connect()
        try await client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        seen.insert(try await client.response().text)
      }
      #expect(seen == ["0", "1"])
      #expect(server.server.count(.accepted) == 200)
      #expect(server.server.count(.requests) == 200)
    }
  }

  @Test(
    "A port that another server uses is refused, even if both would share it among their event loops",
    arguments: [1, 2]
  )
  func portTaken(loops: Int) async throws {
    try await TestServer.run(loops: loops, respond: echo) { server in
      var configuration = Server.Configuration()
      configuration.port = server.port
      configuration.loops = loops
      let error = #expect(throws: SystemError.self) { _ = try Server(configuration) }
      #expect(
        error?.description
          == "cannot listen on 127.0.0.1:\(server.port): Address already in use (bind, errno 98)"
      )
    }
  }

  @Test("A server that listens on IPv6 also accepts IPv4 clients")
  func dualStack() async throws {
    var configuration = Server.Configuration()
    configuration.host = "::"
    let server = try Server(configuration)
    try server.start { .response(.text($0.peer.host)) }
    let client = try RawClient(port: server.address.port)
    try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await client.response().text == "127.0.0.1")
    await stop(server)
  }
}
