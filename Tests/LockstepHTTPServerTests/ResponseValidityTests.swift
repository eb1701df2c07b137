import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@Suite(
  "A repeated request gets the last response again while that is valid",
  .timeLimit(.minutes(10))
)
struct ResponseValidityTests {
  private static func request(_ target: String, _ method: String = "GET", field: String = "A: 1") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n"
  }

  /// Responds with the number of requests that it has seen. Its responses are valid until a test
  /// says otherwise.
  private final class Counter: ResponseValidity {
    private let requests = Atomic(0)
    private let questions = Atomic(0)
    private let holding = Atomic(true)
    private let padding: Int

    init(padding: Int = 0) { self.padding = padding }

    var asked: Int { questions.load(ordering: .relaxed) }

    func respond(to _: Request) -> HandlerResult {
      let number = requests.add(1, ordering: .relaxed).newValue
      return .reusable(.text("\(number)" + String(repeating: " ", count: padding)), self)
    }

    func holds(at arrival: Int64) -> Bool {
      questions.add(1, ordering: .relaxed)
      return holding.load(ordering: .relaxed)
    }

    func setHolding(_ isHolding: Bool) { holding.store(isHolding, ordering: .relaxed) }
  }

  @Test("The handler is not called again while its last response is valid")
  func again() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      for round in 1...3 {
        for _ in 1...5 {
          try await client.send(Self.request("/"))
          #expect(try await client.response().text == "\(round)")
        }
        counter.setHolding(false)
        try await client.send(Self.request("/"))
        #expect(try await client.response().text == "\(round + 1)")
        counter.setHolding(true)
      }
      #expect(server.server.count(.requests) == 18)
    }
  }

  @Test("A request only counts as repeated if all bytes are equal, on the same connection")
  func others() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      let different = [
        Self.request("/"), Self.request("/a"), Self.request("/", field: "A: 2"), Self.request("/", field: "a: 2"),
        Self.request("/ab"), Self.request("/"),
      ]
      for (index, request) in different.enumerated() {
        try await client.send(request)
        #expect(try await client.response().text == "\(index + 1)")
      }
      try await client.send(Self.request("/", "HEAD"))
      #expect(try await client.response(toHead: true).field("Content-Length") == "1")
      let other = try server.connect()
      try await other.send(Self.request("/"))
      #expect(try await other.response().text == "8")
      #expect(counter.asked == 0)
    }
  }

  @Test("A repeated request is recognized in a pipeline, split anywhere, and after empty lines")
  func pieces() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      let request = Self.request("/")
      try await client.send(request + request + request + Self.request("/b") + request)
      for expected in ["1", "1", "1", "2", "3"] { #expect(try await client.response().text == expected) }
      for cut in 1..<request.utf8.count {
        try await client.send(String(request.prefix(cut)))
        try await client.waitUntilTaken()
        try await client.send(String(request.dropFirst(cut)))
        #expect(try await client.response().status == 200)
      }
      try await client.send("\r\n\r\n" + request)
      #expect(try await client.response().status == 200)
    }
  }

  @Test("A handler can see whether the previous request was the same")
  func repetition() async throws {
    try await TestServer.run(responder: { .response(.text("\($0.isRepetition)")) }) { server in
      let client = try server.connect()
      for (target, expected) in [("/", "false"), ("/", "true"), ("/", "true"), ("/b", "false"), ("/", "false")] {
        try await client.send(Self.request(target))
        #expect(try await client.response().text == expected)
      }
      for _ in 1...2 {
        try await client.send(Self.request("/", "PUT", field: "Content-Length: 1") + "x")
        #expect(try await client.response().text == "false")
      }
    }
  }

  @Test("The handler is called for each request with a body")
  func bodies() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      for number in 1...3 {
        try await client.send(Self.request("/", "PUT", field: "Content-Length: 1") + "x")
        #expect(try await client.response().text == "\(number)")
      }
    }
  }

  @Test(
    "A long response is not kept, because there may be many connections",
    arguments: [(4095, ["1", "1"]), (4096, ["1", "2"])]
  )
  func longBodies(padding: Int, expected: [String]) async throws {
    let counter = Counter(padding: padding)
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      for expected in expected {
        try await client.send(Self.request("/"))
        #expect(try await client.response().text.prefix { $0 != " " } == expected)
      }
    }
  }

  @Test("Any other response in between replaces the kept response")
  func forgotten() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { $0.head.path == "/" ? counter.respond(to: $0) : .response(.text("other")) }) {
      server in
      let client = try server.connect()
      for expected in ["1", "other", "2", "2"] {
        try await client.send(Self.request(expected == "other" ? "/other" : "/"))
        #expect(try await client.response().text == expected)
      }
    }
  }

  @Test("While the server shuts down, a repeated request gets one more response, and the connection is closed")
  func draining() async throws {
    let counter = Counter()
    try await TestServer.run(responder: { counter.respond(to: $0) }) { server in
      let client = try server.connect()
      try await client.send(Self.request("/"))
      #expect(try await client.response().field("Connection") == nil)
      let request = Array(Self.request("/").utf8)
      try await client.send(Array(request.dropLast()))
      await eventually { server.server.count(.received) == 2 * request.count - 1 }
      server.server.drain()
      try await client.send([request[request.count - 1]])
      let last = try await client.response()
      #expect(last.text == "2")
      #expect(last.field("Connection") == "close")
      #expect(try await client.isClosed())
    }
  }
}
