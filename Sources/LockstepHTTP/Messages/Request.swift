/// A request, as a handler gets it.
public struct Request: Sendable {
  package let head: RequestHead
  package internal(set) var body: RequestBody
  /// The client's address: of its connection, or as a trusted proxy reported it.
  package var peer: PeerAddress
  /// When the head was complete, in nanoseconds of the server's monotonic clock.
  package let arrival: Int64
  /// The index of the connection's event loop, from 0. Each loop can have its own counters.
  package let loop: Int
  /// Whether the event loop got a request with the same head before, on any connection.
  package var isRepetition = false
  /// Whether another node of the fleet has forwarded the request for its client.
  package var isForwarded = false
  /// Whether the request arrived on the socket of the operator's commands, so it is the administrator's.
  package var isFromOperator = false
  /// The id of the request in the log and in its response.
  package var id: String?
  package var parameters = PathParameters()

  /// A request from its parts.
  public init(head: RequestHead, body: RequestBody, peer: PeerAddress, arrival: Int64, loop: Int) {
    self.head = head
    self.body = body
    self.peer = peer
    self.arrival = arrival
    self.loop = loop
  }

  /// The same request that has arrived again, with another id.
  package func again(at arrival: Int64, id: String) -> Request {
    var request = Request(head: head, body: body, peer: peer, arrival: arrival, loop: loop)
    request.id = id
    request.isForwarded = isForwarded
    request.isFromOperator = isFromOperator
    return request
  }

  /// A copy whose body, if the handler still has to read it, is read from another source.
  package func readingBody(from source: (any BodySource) -> any BodySource) -> Request {
    guard case .source(let present, let limit) = body else { return self }
    var request = self
    request.body = .source(source(present), limit: limit)
    return request
  }

  /// A copy whose body, if the handler still has to read it, is refused above `limit` with 413. The
  /// length of a body that arrived with its head has already been checked.
  public func limited(toBody limit: Int) -> Request {
    guard case .source(let source, let previous) = body else { return self }
    var request = self
    request.body = .source(source, limit: min(limit, previous))
    return request
  }
}

/// The body of a request.
public enum RequestBody: Sendable {
  /// A body that arrived with its head. An empty one means no body.
  case bytes([UInt8])
  /// A body that is read when the handler asks for it, at most `limit` bytes.
  case source(any BodySource, limit: Int = .max)

  /// Reads the whole body. Call it once.
  ///
  /// Throws a problem: 413 if the body is larger than its limit, 400 if it is malformed or
  /// incomplete, 408 if it arrives too slowly, 503 if the server has no memory for it.
  public func collect() async throws -> [UInt8] {
    switch self {
    case .bytes(let bytes): bytes
    case .source(let source, let limit): try await source.collect(upTo: limit)
    }
  }
}

/// The source of a request's body: see `RequestBody.collect()`.
public protocol BodySource: AnyObject, Sendable {
  /// Reads the whole body. Its limit is `limit` or the server's limit, whichever is less.
  func collect(upTo limit: Int) async throws -> [UInt8]
}

/// The address of a client or a server.
public struct PeerAddress: Sendable, Equatable, CustomStringConvertible {
  /// A name or an address. For an IPv4 client of an IPv6 socket, it is the IPv4 address.
  package let host: String
  package let port: Int

  /// An address from its parts.
  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// A process that has connected to the server's Unix socket.
  package static let process = PeerAddress(host: "socket", port: 0)

  /// `127.0.0.1:80` or `[::1]:80`.
  public var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
