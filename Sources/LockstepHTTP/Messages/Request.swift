/// A request as a handler sees it.
public struct Request: Sendable {
  /// The checked head.
  public let head: RequestHead
  /// The body, read when the handler asks for it.
  public internal(set) var body: RequestBody
  /// Who asks: the other end of the connection, or whom it names where it's trusted to.
  public var peer: PeerAddress
  /// When the head was complete, in the nanoseconds of the server's monotonic clock.
  public let arrival: Int64
  /// Which event loop serves the connection, from 0: lets counters be kept a loop, without sharing.
  public let loop: Int
  /// Whether the request before it on this connection was the very same: then it may come once more.
  public var isRepetition = false
  /// What it's called in the log and in its answer, where somebody wants to know.
  public var name: String?
  /// What the path's `{…}` stand for, decoded.
  public var parameters = PathParameters()

  /// A request of its parts.
  public init(head: RequestHead, body: RequestBody, peer: PeerAddress, arrival: Int64, loop: Int) {
    self.head = head
    self.body = body
    self.peer = peer
    self.arrival = arrival
    self.loop = loop
  }

  /// The request with a bound of its own on its body: what is still to come past it is refused with 413.
  public func limited(toBody limit: Int) -> Request {
    guard case .source(let source) = body else { return self }
    var request = self
    request.body = .source(LimitedBody(source, limit: limit))
    return request
  }
}

/// A body that is read on demand: until a handler asks, nothing of it is taken from the client.
public enum RequestBody: Sendable {
  /// A body that is here already; an empty one stands for none.
  case bytes([UInt8])
  /// A body still to come.
  case source(any BodySource)

  /// The whole body. Throws 413 when it's larger than the limit, 400 when its coding is broken, 408 when it comes too
  /// slowly, 503 when the server has no memory for it: problems that the handler passes on. To be called once.
  public func collect() async throws -> [UInt8] {
    switch self {
    case .bytes(let bytes): bytes
    case .source(let source): try await source.collect()
    }
  }
}

/// Where a body comes from.
public protocol BodySource: AnyObject, Sendable {
  /// The whole body, of `limit` bytes at most or the server's own limit, whichever is less. See `RequestBody.collect()`.
  func collect(upTo limit: Int) async throws -> [UInt8]
}

extension BodySource {
  /// The whole body, up to the server's limit. See `RequestBody.collect()`.
  public func collect() async throws -> [UInt8] { try await collect(upTo: .max) }
}

/// A body with a smaller limit than its source's.
private final class LimitedBody: BodySource {
  private let source: any BodySource
  private let limit: Int

  init(_ source: any BodySource, limit: Int) {
    self.source = source
    self.limit = limit
  }

  func collect(upTo limit: Int) async throws -> [UInt8] { try await source.collect(upTo: min(limit, self.limit)) }
}

/// The address a connection came from.
public struct PeerAddress: Sendable, Equatable, CustomStringConvertible {
  /// The address without the port, as text; IPv4 clients of an IPv6 socket show as IPv4.
  public let host: String
  /// The port.
  public let port: Int

  /// An address of its parts.
  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// `127.0.0.1:80` or `[::1]:80`.
  public var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
