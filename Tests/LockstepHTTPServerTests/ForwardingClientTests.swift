import LockstepHTTP
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepHTTPServer

@Suite("Requests are forwarded to other servers", .timeLimit(.minutes(10)))
struct ForwardingClientTests {
  private static let request = Array("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".utf8)

  /// Forwards a request to a server that responds with this text. Returns the exchange with progress.
  private static func exchange(
    _ text: String,
    bounds: ForwardingClient.Bounds = .init(),
    _ body: (ForwardedExchange) async throws -> Void
  ) async throws {
    let (server, client) = (try RawServer(), ForwardingClient(bounds, time: ManualTime().serverTime))
    let address = PeerAddress(host: "127.0.0.1", port: server.port)
    let exchange = try client.send(request, to: address, until: .max)
    async let responded: Void = aside { server.respondOnce(text) }
    await exchange.settled()
    try await body(exchange)
    await responded
    await aside { client.shutDown() }
    #expect(client.running == 0)
  }

  private static func failure(_ exchange: ForwardedExchange) -> ForwardedExchange.Failure? {
    if case .failed(let failure) = exchange.progress { failure } else { nil }
  }

  @Test("A response with chunks is passed on with its body as one array")
  func chunks() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
    try await Self.exchange(head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") { exchange in
      guard case .response(let response) = exchange.progress else {
        Issue.record("\(exchange.progress)")
        return
      }
      #expect(response.body.joined == Array("abcde".utf8) && response.fields[.contentType] == "a/b")
    }
  }

  @Test("A long stream for a slow client is complete, and only a part of it is in memory", arguments: [true, false])
  func stream(isChunked: Bool) async throws {
    let lines = (0..<40_000).map { "data: \($0)\n\n" }.joined()
    var text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    if isChunked {
      text += "Transfer-Encoding: chunked\r\n\r\n\(String(lines.utf8.count, radix: 16))\r\n\(lines)\r\n0\r\n\r\n"
    } else {
      text += "\r\n\(lines)"
    }
    try await Self.exchange(text) { exchange in
      guard case .stream(let head) = exchange.progress else {
        Issue.record("\(exchange.progress)")
        return
      }
      #expect(head.fields[.contentType] == "text/event-stream")
      var all: [UInt8] = []
      await eventually {
        switch exchange.takePiece() {
        case .bytes(let piece):
          #expect(piece.count <= 128 * 1024)
          all += piece
          return false
        case .nothing: return false
        case .end: return true
        }
      }
      // The difference of two long arrays would take hours.
      let isComplete = all == Array(lines.utf8)
      #expect(isComplete)
    }
  }

  @Test("Responses that are larger than their bounds fail")
  func sizes() async throws {
    let text = "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 100_000)
    var bounds = ForwardingClient.Bounds()
    bounds.responseBytes = 99_999
    try await Self.exchange(text, bounds: bounds) { #expect(Self.failure($0) == .tooLarge) }
    bounds.responseBytes = 100_000
    bounds.memory = 99_999
    try await Self.exchange(text, bounds: bounds) { #expect(Self.failure($0) == .full) }
    bounds.memory = 100_000
    try await Self.exchange(text, bounds: bounds) { #expect(Self.failure($0) == nil) }
  }

  @Test("A server that does not respond until the deadline, or after it was hurried, fails")
  func deadlines() async throws {
    let (server, time) = (try RawServer(backlog: 8), ManualTime())
    let client = ForwardingClient(time: time.serverTime)
    let address = PeerAddress(host: "127.0.0.1", port: server.port)
    // The many short steps below do not reach this time.
    let deadline = time.serverTime.monotonic() + 1_000_000_000_000_000
    let (slow, hurried) = (
      try client.send(Self.request, to: address, until: deadline),
      try client.send(Self.request, to: address, until: deadline)
    )
    hurried.makeDue()
    await eventually {
      time.advance(by: 2)
      client.lookAtClock()
      return Self.failure(hurried) == .timedOut
    }
    #expect(Self.failure(slow) == nil)
    time.advance(by: 1_000_000)
    await eventually {
      client.lookAtClock()
      return Self.failure(slow) == .timedOut
    }
    #expect(time.serverTime.monotonic() >= deadline && client.failures == 2)
    await aside { client.shutDown() }
  }

  @Test("Only so many requests are forwarded at once, and all fail when the client shuts down")
  func bounds() async throws {
    let hanging = try RawServer()
    var bounds = ForwardingClient.Bounds()
    bounds.exchanges = 1
    let client = ForwardingClient(bounds, time: .system)
    let address = PeerAddress(host: "127.0.0.1", port: hanging.port)
    let first = try client.send(Self.request, to: address, until: .max)
    #expect(throws: ForwardedExchange.Failure.full) { try client.send(Self.request, to: address, until: .max) }
    await aside { client.shutDown() }
    #expect(Self.failure(first) == .shutDown)
    #expect(throws: ForwardedExchange.Failure.shutDown) { try client.send(Self.request, to: address, until: .max) }
  }

  @Test("Names of servers are resolved, and one that cannot be resolved is unreachable")
  func names() async throws {
    let client = ForwardingClient(time: .system)
    let unknown = try client.send(Self.request, to: PeerAddress(host: "lockstep.invalid", port: 1), until: .max)
    await unknown.settled()
    #expect(Self.failure(unknown) == .unreachable)
    let server = try RawServer()
    // The name may have an address of IPv6 first, where no server listens.
    let known = try client.send(Self.request, to: PeerAddress(host: "localhost", port: server.port), until: .max)
    await aside { server.respondOnce("HTTP/1.1 204 No Content\r\n\r\n") }
    await known.settled()
    if case .response(let response) = known.progress {
      #expect(response.status == .noContent)
    } else {
      Issue.record("\(known.progress)")
    }
    await aside { client.shutDown() }
  }
}
