import Glibc
import LockstepHTTP
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepHTTPServer

@Suite("Output that clients do not take is bounded in memory and in time", .timeLimit(.minutes(10)))
struct OutputMemoryTests {
  /// More than the kernel's buffers hold.
  private static let long = [UInt8](repeating: 0x61, count: 16 * 1024 * 1024)
  private static let get = "GET /long HTTP/1.1\r\nHost: h\r\n\r\n"

  private static func respond(_ request: Request) -> HandlerResult {
    switch request.head.path {
    case "/long": .response(Response(status: .ok, body: .bytes(long)))
    case "/medium": .response(Response(status: .ok, body: .bytes(Array(long.prefix(20 * 1024)))))
    case "/pieces":
      .response(
        Response(status: .ok, body: .pieces(BodyPieces(Array(repeating: Array(long.prefix(1 << 20)), count: 16))))
      )
    case "/stream": .response(Response(status: .ok, body: .stream { try await $0.write(long) }))
    case "/holding":
      .response(Response(status: .ok, body: .stream(holding: long.count) { try await $0.write(long) }))
    default: .response(.text("short"))
    }
  }

  /// Returns a client that has sent a request and does not read.
  private static func waiting(_ server: TestServer, for request: String = get) async throws -> RawClient {
    let client = try server.connect(receiveBuffer: 64 * 1024)
    try await client.send(request)
    await eventually { server.server.count(.outputBytes) > 0 }
    return client
  }

  @Test("One response is always sent; above the limit, further long ones are refused, and their connections are kept")
  func bound() async throws {
    try await TestServer.run({ $0.outputMemory = 0 }, responder: Self.respond) { server in
      let first = try await Self.waiting(server)
      let second = try server.connect()
      try await second.send("GET /medium HTTP/1.1\r\nHost: h\r\n\r\n")
      let refusal = try await second.response()
      #expect(refusal.status == 503)
      #expect(refusal.field("Retry-After") == "1")
      #expect(refusal.field("Connection") == nil)
      #expect(refusal.text.contains("/problems/overloaded"))
      #expect(server.server.count(.refusedResponses) == 1)
      // Short responses and responses to changes fit into the kernel's buffer.
      for request in ["GET /", "POST /medium", "HEAD /long"] {
        try await second.send("\(request) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await second.response(toHead: request.hasPrefix("HEAD")).status == 200)
      }
      #expect(try await first.response().body.count == Self.long.count)
      await eventually { server.server.count(.outputBytes) == 0 }
      try await second.send(Self.get)
      #expect(try await second.response().body.count == Self.long.count)
      #expect(server.server.count(.refusedResponses) == 1)
      #expect(server.server.count(.slowReaders) == 0)
    }
  }

  @Test("Clients that never read hold no more memory than the limit, however many they are")
  func neverReading() async throws {
    let bound = 24 * 1024 * 1024
    try await TestServer.run({ $0.outputMemory = bound }, responder: Self.respond) { server in
      var clients: [RawClient] = []
      for _ in 0..<50 {
        let client = try server.connect(receiveBuffer: 64 * 1024)
        try await client.send(Self.get)
        clients.append(client)
      }
      await eventually { server.server.count(.requests) == 50 }
      // The server counts a request before it responds. This response comes after the others.
      let last = try server.connect()
      try await last.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await last.response().text == "short")
      #expect(1...bound ~= server.server.count(.outputBytes))
      #expect(server.server.count(.refusedResponses) > 0)
      // The clients that hold the memory are too slow. When they are disconnected, there is room
      // again.
      await eventually {
        server.advance(by: 31)
        return server.server.count(.outputBytes) == 0
      }
      #expect(server.server.count(.slowReaders) > 0)
      let other = try server.connect()
      try await other.send(Self.get)
      #expect(try await other.response().body.count == Self.long.count)
    }
  }

  @Test(
    "A stream is cut off if neither the kernel nor the memory limit has room for its next piece",
    arguments: [false, true]
  )
  func stream(isEventSource: Bool) async throws {
    let bell = WakeSignal()
    let responder: @Sendable (Request) -> HandlerResult = { request in
      isEventSource && request.head.path == "/stream"
        ? .eventStream(Response(status: .ok), bell) : Self.respond(request)
    }
    try await TestServer.run({ $0.outputMemory = 0 }, responder: responder) { server in
      let first = try await Self.waiting(server)
      let second = try server.connect(receiveBuffer: 64 * 1024)
      try await second.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
      if isEventSource {
        await eventually { bell.waiting == 1 }
        bell.tell(.bytes(Self.long))
      }
      await eventually { server.server.count(.slowReaders) == 1 && server.server.count(.open) == 1 }
      #expect(!isEventSource || bell.released == 1)
      #expect(try await first.response().body.count == Self.long.count)
    }
  }

  @Test("The memory that a stream holds counts from its first byte on; without room for it, the client gets 503")
  func holdingStream() async throws {
    try await TestServer.run({ $0.outputMemory = Self.long.count * 5 / 2 }, responder: Self.respond) { server in
      let first = try await Self.waiting(server, for: "GET /holding HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(server.server.count(.outputBytes) >= Self.long.count)
      let second = try server.connect()
      for path in ["/holding", "/holding"] {
        try await second.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        let refusal = try await second.response()
        #expect(refusal.status == 503)
        #expect(refusal.field("Retry-After") == "1")
      }
      try await second.send("HEAD /holding HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await second.response(toHead: true).status == 200)
      #expect(server.server.count(.refusedResponses) == 2)
      #expect(try await first.response().body.count == Self.long.count)
      await eventually { server.server.count(.outputBytes) == 0 }
      try await second.send("GET /holding HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await second.response().body.count == Self.long.count)
    }
  }

  @Test("An owner may hold at most half of the output memory that other owners leave")
  func shares() async throws {
    // The query names the owner.
    let (mebibyte, time) = (1024 * 1024, ManualTime())
    var configuration = Server.Configuration()
    configuration.limits.outputMemory = 100 * mebibyte
    let server = TestServer(server: try Server(configuration, time: time.serverTime), time: time)
    try server.server.start(noteRefusal: { _ in }, outputOwner: { head, _ in head.query }) { _ in Self.respond }
    var (clients, held): ([RawClient], Int) = ([], 0)
    // Sends a request, and expects that its response waits for the client.
    func wait(_ path: String, _ owner: String) async throws {
      let client = try server.connect(receiveBuffer: 64 * 1024)
      try await client.send("GET \(path)?\(owner) HTTP/1.1\r\nHost: h\r\n\r\n")
      held += 16
      await eventually { server.server.count(.outputBytes) >= held * mebibyte }
      clients.append(client)
    }
    func expectRefusal(_ path: String, _ owner: String) async throws {
      let client = try server.connect()
      try await client.send("GET \(path)?\(owner) HTTP/1.1\r\nHost: h\r\n\r\n")
      let refusal = try await client.response()
      #expect(refusal.status == 503 && refusal.text.contains("your share"), "\(path) \(owner)")
      #expect(refusal.field("Retry-After") == "1")
    }
    // Ada may hold 48 MiB, because 52 MiB stay free, but not 64 MiB, which leave 36 MiB.
    for path in ["/long", "/pieces", "/long"] { try await wait(path, "ada") }
    for path in ["/long", "/pieces", "/holding"] { try await expectRefusal(path, "ada") }
    try await wait("/pieces", "bob")
    try await expectRefusal("/long", "bob")
    try await wait("/long", "cleo")
    // A short response of another owner still fits.
    let last = try server.connect()
    try await last.send("GET /medium?dan HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await last.response().status == 200)
    for client in clients { #expect(try await client.response().body.count == Self.long.count) }
    await eventually { server.server.count(.outputBytes) == 0 }
    (clients, held) = ([], 0)
    for _ in 0..<3 { try await wait("/long", "ada") }
    #expect(server.server.count(.refusedResponses) == 4)
    for client in clients { client.close() }
    await stop(server.server)
  }

  /// The ways in which a connection with waiting output may end.
  enum Ending: CaseIterable {
    case read, reset, closed, slow
  }

  @Test(
    "However a connection ends, the memory of its output is released",
    arguments: Ending.allCases,
    ["/long", "/pieces", "/stream", "/holding"]
  )
  func givenBack(ending: Ending, path: String) async throws {
    try await TestServer.run(responder: Self.respond) { server in
      for _ in 0..<2 {
        let client = try await Self.waiting(server, for: "GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        switch ending {
        case .read: #expect(try await client.response().body.count == Self.long.count)
        case .reset: client.reset()
        case .closed: client.close()
        case .slow: break
        }
        await eventually {
          if case .slow = ending { server.advance(by: 31) }
          return server.server.count(.outputBytes) == 0
        }
      }
      if case .slow = ending { await eventually { server.server.count(.slowReaders) == 2 } }
    }
  }

  @Test("A server that stops releases the memory of output for slow clients")
  func drained() async throws {
    try await TestServer.run(responder: Self.respond) { server in
      let client = try await Self.waiting(server)
      server.server.drain()
      await eventually { (try? server.connect()) == nil }
      server.advance(by: 9)
      #expect(try await client.countToEnd() < Self.long.count)
      #expect(server.server.count(.outputBytes) == 0)
    }
  }

  @Test("Waiting clients that get short responses at the same moment need none of this memory")
  func waitingClients() async throws {
    let bell = WakeSignal()
    let responder: @Sendable (Request) -> HandlerResult = { $0.head.path == "/long" ? Self.respond($0) : .parked(bell) }
    try await TestServer.run({ $0.outputMemory = 0 }, responder: responder) { server in
      let slow = try await Self.waiting(server)
      var clients: [RawClient] = []
      for _ in 0..<500 {
        let client = try server.connect()
        try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        clients.append(client)
      }
      await eventually { bell.waiting == 500 }
      bell.ring()
      for client in clients { #expect(try await client.response().text == "woken") }
      #expect(server.server.count(.refusedResponses) == 0)
      #expect(server.server.count(.slowReaders) == 0)
      _ = slow
    }
  }

  @Test("Ten seconds after much output was held and sent, free memory goes back to the system")
  func returned() async throws {
    let returned = Atomic(0)
    let time = ManualTime()
    var configuration = Server.Configuration()
    configuration.returnMemory = { returned.add(1, ordering: .sequentiallyConsistent) }
    let server = TestServer(server: try Server(configuration, time: time.serverTime), time: time)
    try server.server.start(respond: Self.respond)
    let client = try await Self.waiting(server)
    server.advance(by: 11)
    // The event loop has read the clock when it responds to this request.
    let other = try server.connect()
    try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await other.response()
    #expect(returned.load(ordering: .sequentiallyConsistent) == 0)
    #expect(try await client.response().body.count == Self.long.count)
    await eventually {
      server.advance(by: 11)
      return returned.load(ordering: .sequentiallyConsistent) > 0
    }
    await stop(server.server)
    #expect(returned.load(ordering: .sequentiallyConsistent) == 1)
  }

  @Test("A client that reads 600 bytes every nine seconds is disconnected")
  func drip() async throws {
    try await TestServer.run(responder: Self.respond) { server in
      let client = try await Self.waiting(server)
      await eventually {
        var bytes = [UInt8](repeating: 0, count: 600)
        _ = recv(client.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        server.advance(by: 9)
        return server.server.count(.open) == 0
      }
      #expect(server.server.count(.slowReaders) == 1)
      #expect(server.server.count(.timedOut) == 1)
    }
  }

  @Test("A parked request, and a stream without output, may take any time", arguments: [false, true])
  func idle(isStream: Bool) async throws {
    let bell = WakeSignal()
    try await TestServer.run(responder: { _ in isStream ? .eventStream(Response(status: .ok), bell) : .parked(bell) }) {
      server in
      let client = try server.connect()
      try await client.send(Self.get)
      await eventually { bell.waiting == 1 }
      for _ in 0..<20 {
        server.advance(by: 60)
        // The event loop has read the clock when it has accepted this connection.
        let accepted = server.server.count(.accepted)
        let other = try server.connect()
        await eventually { server.server.count(.accepted) == accepted + 1 }
        other.close()
      }
      if isStream {
        bell.tell(.bytes(Array("piece".utf8)))
        bell.tell(.end)
      } else {
        bell.ring()
      }
      #expect(try await client.response().text == (isStream ? "piece" : "woken"))
      #expect(server.server.count(.slowReaders) == 0)
    }
  }
}
