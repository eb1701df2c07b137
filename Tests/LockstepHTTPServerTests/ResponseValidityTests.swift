import LockstepHTTP
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@Suite(
  "A repeated request gets the last response again while that is valid",
  .timeLimit(.minutes(10))
)
struct ResponseValidityTests {
  private static func request(_ target: String, _ method: String = "GET", field: String = "A: 1") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n"
  }

  /// Responds with the number of requests that it has seen and with the request's path. Its
  /// responses are valid until a test says otherwise.
  private final class Counter: ResponseValidity {
    private let requests = Atomic(0)
    private let questions = Atomic(0)
    private let holding = Atomic(true)
    private let padding: Int

    init(padding: Int = 0) { self.padding = padding }

    var asked: Int { questions.load(ordering: .relaxed) }

    var fields: HeaderFields {
      var fields = HeaderFields()
      fields.append(.retryAfter, "\(asked)")
      return fields
    }

    func respond(to request: Request) -> HandlerResult {
      let number = requests.add(1, ordering: .relaxed).newValue
      return .reusable(.text("\(number)\(request.head.path)" + String(repeating: " ", count: padding)), self)
    }

    func holds(at arrival: Int64) -> Bool {
      questions.add(1, ordering: .relaxed)
      return holding.load(ordering: .relaxed)
    }

    func setHolding(_ isHolding: Bool) { holding.store(isHolding, ordering: .relaxed) }
  }

  private static func run(_ body: (TestServer, Counter) async throws -> Void) async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { try await body($0, counter) }
  }

  @Test("The handler is called for the first two requests, and then not while its last response is valid")
  func again() async throws {
    try await Self.run { server, counter in
      let client = try server.connect()
      try await client.send(Self.request("/"))
      #expect(try await client.response().text == "1/")
      for round in 2...4 {
        counter.setHolding(false)
        try await client.send(Self.request("/"))
        #expect(try await client.response().text == "\(round)/")
        counter.setHolding(true)
        for _ in 1...5 {
          try await client.send(Self.request("/"))
          #expect(try await client.response().text == "\(round)/")
        }
      }
      #expect(server.server.count(.requests) == 19)
    }
  }

  @Test("Different requests in turns over one connection each get their own response")
  func turns() async throws {
    try await Self.run { server, counter in
      let client = try server.connect()
      let requests = [
        Self.request("/a"), Self.request("/b"), Self.request("/a", field: "A: 2"), Self.request("/a", field: "a: 1"),
        Self.request("/a", "HEAD"),
      ]
      var expected = (6...10).map { "\($0)" }
      expected[4] = ""
      for turn in 1...4 {
        for (index, request) in requests.enumerated() {
          try await client.send(request)
          let response = try await client.response(toHead: index == 4)
          #expect(response.field("Content-Length") == (turn == 1 ? "3" : index == 4 ? "4" : "3"))
          guard turn > 1 else { continue }
          #expect(response.text.prefix { $0 != "/" } == expected[index])
          #expect(response.text.hasSuffix(index == 1 ? "/b" : index == 4 ? "" : "/a"))
        }
      }
      #expect(counter.asked == 10)
    }
  }

  @Test("A client gets the response again over another connection, and another client does not")
  func clients() async throws {
    try await Self.run { server, counter in
      for expected in ["1/", "2/", "2/", "2/"] {
        let client = try server.connect()
        try await client.send(Self.request("/"))
        #expect(try await client.response().text == expected)
        client.close()
      }
      let other = try server.connect(source: 2)
      for expected in ["3/", "3/"] {
        try await other.send(Self.request("/"))
        #expect(try await other.response().text == expected)
      }
    }
  }

  @Test("A response that is sent again has the validity's fields of that moment")
  func fields() async throws {
    try await Self.run { server, _ in
      let client = try server.connect()
      for expected in ["0", "0", "1", "2"] {
        try await client.send(Self.request("/"))
        #expect(try await client.response().values(of: "Retry-After") == [expected])
      }
    }
  }

  @Test("A repeated request is recognized in a pipeline, split anywhere, and after empty lines")
  func pieces() async throws {
    try await Self.run { server, counter in
      let client = try server.connect()
      let request = Self.request("/")
      try await client.send(request + request + request + Self.request("/b") + request)
      for expected in ["1/", "2/", "2/", "3/b", "2/"] { #expect(try await client.response().text == expected) }
      for cut in 1..<request.utf8.count {
        try await client.send(String(request.prefix(cut)))
        try await client.waitUntilTaken()
        try await client.send(String(request.dropFirst(cut)))
        #expect(try await client.response().text == "2/")
      }
      try await client.send("\r\n\r\n" + request)
      #expect(try await client.response().text == "2/")
      #expect(counter.asked == request.utf8.count + 2)
    }
  }

  @Test("A handler can see whether the event loop got the same request before")
  func repetition() async throws {
    try await TestServer.run(responder: { .response(.text("\($0.isRepetition)")) }) { server in
      let client = try server.connect()
      for (target, expected) in [("/", "false"), ("/", "true"), ("/b", "false"), ("/", "true"), ("/b", "true")] {
        try await client.send(Self.request(target))
        #expect(try await client.response().text == expected)
      }
    }
  }

  @Test("The handler is called for each request with a body")
  func bodies() async throws {
    try await Self.run { server, _ in
      let client = try server.connect()
      for number in 1...4 {
        try await client.send(Self.request("/", "PUT", field: "Content-Length: 1") + "x")
        #expect(try await client.response().text == "\(number)/")
      }
    }
  }

  @Test("After a request with a body that the handler did not read, a repeated request gets its response")
  func afterBody() async throws {
    try await Self.run { server, _ in
      let client = try server.connect()
      for _ in 1...2 { try await client.send(Self.request("/")) }
      for _ in 1...3 {
        try await client.send(Self.request("/b", "PUT", field: "Transfer-Encoding: chunked") + "2\r\nxy\r\n0\r\n\r\n")
        try await client.send(Self.request("/"))
      }
      for expected in ["1/", "2/", "3/b", "2/", "4/b", "2/", "5/b", "2/"] {
        let response = try await client.response()
        #expect(response.text == expected && response.field("Connection") == nil)
      }
    }
  }

  @Test("A long response is not kept", arguments: [(16_356, ["1", "2", "2"]), (16_357, ["1", "2", "3"])])
  func longBodies(padding: Int, expected: [String]) async throws {
    let counter = Counter(padding: padding)
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      for expected in expected {
        try await client.send(Self.request("/"))
        #expect(try await client.response().text.prefix { $0 != "/" } == expected)
      }
    }
  }

  @Test("A request with a long head is not kept", arguments: [(2048, "2"), (2049, "3")])
  func longHeads(size: Int, expected: String) async throws {
    try await Self.run { server, _ in
      let client = try server.connect()
      let short = Self.request("/", field: "A: ")
      let request = Self.request("/", field: "A: " + String(repeating: "a", count: size - short.utf8.count))
      for expected in ["1", "2", expected] {
        try await client.send(request)
        #expect(try await client.response().text == "\(expected)/")
      }
    }
  }

  @Test("A response that asynchronous work makes is kept too, and the next plain response replaces it")
  func replaced() async throws {
    let counter = Counter()
    let isPlain = LockedState(false)
    try await TestServer.run(
      responder: { request in
        if isPlain.withLock({ $0 }) { return .response(.text("plain")) }
        return .async { counter.respond(to: request) }
      }
    ) { server in
      let client = try server.connect()
      for expected in ["1/", "2/", "2/", "plain", "plain", "3/", "3/"] {
        if expected == "plain" {
          counter.setHolding(false)
          isPlain.withLock { $0 = true }
        } else if expected == "3/" {
          counter.setHolding(true)
          isPlain.withLock { $0 = false }
        }
        try await client.send(Self.request("/"))
        #expect(try await client.response().text == expected)
      }
    }
  }

  @Test("A client that wants to close, or speaks HTTP/1.0, gets the right Connection field each time")
  func connectionField() async throws {
    try await Self.run { server, _ in
      for (version, field, expected) in [("1.1", "Connection: close", "close"), ("1.0", "A: 1", "close")] {
        for _ in 1...4 {
          let client = try server.connect()
          try await client.send("GET / HTTP/\(version)\r\nHost: h\r\n\(field)\r\n\r\n")
          #expect(try await client.response().values(of: "Connection") == [expected])
          #expect(try await client.isClosed())
        }
      }
      let client = try server.connect()
      for _ in 1...4 {
        try await client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try await client.response().values(of: "Connection") == ["keep-alive"])
      }
    }
  }

  @Test("While the server shuts down, a repeated request gets one more response, and the connection is closed")
  func draining() async throws {
    try await Self.run { server, _ in
      let client = try server.connect()
      let request = Array(Self.request("/").utf8)
      for _ in 1...2 {
        try await client.send(request)
        #expect(try await client.response().field("Connection") == nil)
      }
      try await client.send(Array(request.dropLast()))
      await eventually { server.server.count(.received) == 3 * request.count - 1 }
      server.server.drain()
      try await client.send([request[request.count - 1]])
      let last = try await client.response()
      #expect(last.text == "2/")
      #expect(last.field("Connection") == "close")
      #expect(try await client.isClosed())
    }
  }
}
