import Glibc
import LockstepTestSupport
import Testing

@Suite("The binary serves HTTP clients and survives clients that send anything else", .timeLimit(.minutes(10)))
struct WireTests {
  private static let request = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let signUp = """
    POST /v1/users HTTP/1.1\r
    Host: h\r
    Content-Type: application/json\r
    Content-Length: 56\r
    \r
    {"email":"ada@example.com","password":"a long password"}
    """
  /// The server's own time limits must not end a connection of a test that waits for its turn beside the whole suite.
  private static let patience = ["--head-timeout", "3600", "--idle-timeout", "3600"]

  private func serving(_ body: (LockstepProcess, Int) async throws -> Void) async throws {
    let (process, port) = try await LockstepProcess.serving(Self.patience, in: TemporaryDirectory())
    try await body(process, port)
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }

  @Test("A connection is kept for many requests, and pipelined requests get their responses in order")
  func keepAliveAndPipelining() async throws {
    try await serving { _, port in
      let client = try RawClient(port: port)
      for _ in 0..<20 {
        try await client.send(Self.request)
        #expect(try await client.response().text == #"{"status":"ok"}"#)
      }
      let paths = (0..<100).map { $0 % 2 == 0 ? "/healthz" : "/nowhere/\($0)" }
      try await client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
      for path in paths {
        let response = try await client.response()
        #expect(response.text.contains(path == "/healthz" ? "ok" : path + "."))
      }
    }
  }

  private static let malformed = [
    "nonsense\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: h\n\n",
    "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", "GET /\u{1} HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: \u{0}\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n",
  ]

  @Test("Bytes that are not a request get 400, the connection is closed, and the server continues")
  func malformedRequests() async throws {
    try await serving { _, port in
      for request in Self.malformed {
        let client = try RawClient(port: port)
        try await client.send(request)
        let response = try await client.response()
        #expect(response.status == 400, "\(request.debugDescription)")
        #expect(response.field("Connection") == "close")
        #expect(response.text.contains("/problems/malformed-request"))
        client.finishSending()
        #expect(try await client.isClosed())
      }
      let client = try RawClient(port: port)
      try await client.send(Self.request)
      #expect(try await client.response().status == 200)
    }
  }

  @Test("After 500 connections of random bytes, the server still responds and has no connection open")
  func garbage() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed of the random bytes: \(seed)")
    var state = seed
    func next() -> UInt8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 40)
    }
    let starts = ["", "GET / HTTP/1.1\r\n", "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"]
    try await serving { _, port in
      for number in 0..<500 {
        let client = try RawClient(port: port)
        let bytes = Array(starts[number % 3].utf8) + (0..<Int(next())).map { _ in next() }
        // The server may have closed the connection already. That is a valid response to random
        // bytes.
        try? await client.send(bytes)
        if number % 2 == 0 { client.close() } else { client.reset() }
      }
      let client = try RawClient(port: port)
      var metrics = ""
      try await eventually {
        try await client.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        metrics = try await client.response().text
        return metrics.contains("lockstep_http_connections 1\n")
      }
      #expect(metrics.contains("lockstep_http_connections_accepted_total 501\n"), "seed \(seed)")
    }
  }

  @Test("With too few descriptors to read the store, the server does not start, and says which limit to raise")
  func tooFewDescriptors() async throws {
    let folder = try TemporaryDirectory()
    let process = try LockstepProcess(["serve", "--port", "0", "--data", folder.file("s.db")], in: folder, limit: 39)
    #expect(await process.ended() == .exit(69))
    #expect(process.errors.contains("the limit on open files is 39, and the server needs at least 40"))
  }

  @Test("Without free descriptors the server waits without a busy loop, and accepts again when some are free")
  func descriptorsExhausted() async throws {
    let (process, port) = try await LockstepProcess.serving(Self.patience, in: TemporaryDirectory(), limit: 40)
    let first = try RawClient(port: port)
    func pauses() async throws -> Int {
      try await first.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
      let line = try await first.response().text.split(separator: "\n")
        .first { $0.hasPrefix("lockstep_http_accept_pauses_total ") }
      return line.flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? 0
    }
    var crowd = try (0..<60).map { _ in try RawClient(port: port) }
    var count = 0
    // The store has descriptors of its own.
    try await first.send(Self.signUp)
    #expect(try await first.response().status == 201)
    try await eventually {
      count = try await pauses()
      return count >= 5
    }
    // After a failed accept, the event loop pauses for a tenth of a second. A busy loop would fail
    // thousands of times between two checks.
    #expect((5..<1000).contains(count))
    for client in crowd.prefix(55) { client.close() }
    crowd.removeFirst(55)
    for client in crowd {
      try await client.send(Self.request)
      #expect(try await client.response().status == 200)
    }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
