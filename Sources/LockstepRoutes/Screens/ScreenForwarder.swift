import LockstepCollections
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMiddleware
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading

/// Passes requests for the screens of other nodes on to these nodes.
package final class ScreenForwarder: Sendable {
  /// How long another node may take for a response, besides the time that a request waits for a change.
  package static let patience = Duration.seconds(10)

  /// The fields of a request that the handlers of screens read.
  private static let fields: [FieldName] = [
    .authorization, .accept, .contentType, .contentEncoding, .ifMatch, .ifNoneMatch, .prefer, .idempotencyKey,
    .lastEventID, .cursor, .userAgent,
  ]

  /// The other nodes, as a forwarder needs them.
  package struct Nodes: Sendable {
    let own: ScreenNode
    /// The URL of a live node, as far as memory tells.
    let address: @Sendable (ScreenNode) -> String?
    /// Reads the nodes from the store.
    let refresh: @Sendable () async throws -> Void

    package init(
      own: ScreenNode,
      address: @escaping @Sendable (ScreenNode) -> String?,
      refresh: @escaping @Sendable () async throws -> Void
    ) {
      (self.own, self.address, self.refresh) = (own, address, refresh)
    }
  }

  package let client: ForwardingClient
  package let credentials: NodeCredentials
  private let nodes: Nodes
  private let longestWait: Int
  private let monotonic: @Sendable () -> Int64
  private let logger: Logger
  /// When a failure was logged.
  private let lastReport = LockedState<Int64?>(nil)
  /// The shortest time between two of them, in nanoseconds.
  private static let reportInterval: Int64 = 10_000_000_000
  private let refreshing = SingleFlight<Int, Bool, any Error>()

  package init(
    _ nodes: Nodes,
    _ client: ForwardingClient,
    _ credentials: NodeCredentials,
    longestWait: Int,
    monotonic: @escaping @Sendable () -> Int64,
    logger: Logger
  ) {
    (self.nodes, self.client, self.credentials) = (nodes, client, credentials)
    (self.longestWait, self.monotonic, self.logger) = (longestWait, monotonic, logger)
  }

  /// The node that opens screens here.
  package var node: ScreenNode { nodes.own }

  /// Forwards a request for a screen of another node. Nil for all other requests, and for those that
  /// another node has forwarded already.
  func result(for request: Request) throws -> HandlerResult? {
    guard !request.isForwarded, let node = ScreenNode(ofScreen: request.parameters["id"] ?? ""), node != nodes.own
    else { return nil }
    // Only actions have a body that a handler reads.
    guard request.head.method == .post else { return try forward(request, [], to: node) }
    return try request.withBody { [self] body in try forward(request, body, to: node) }
  }

  private func forward(_ request: Request, _ body: [UInt8], to node: ScreenNode) throws -> HandlerResult {
    if let url = nodes.address(node) { return try forward(request, body, to: node, at: url) }
    return .async { [self] in
      // The node may have started a moment ago.
      do {
        _ = try await refreshing.value(of: 0) { () async throws in
          try await nodes.refresh()
          return true
        }
      } catch {
        throw Problem.describing(error) ?? error
      }
      guard let url = nodes.address(node) else { throw Problem.noSuchScreen }
      return try forward(request, body, to: node, at: url)
    }
  }

  private func forward(
    _ request: Request,
    _ body: [UInt8],
    to node: ScreenNode,
    at url: String
  ) throws -> HandlerResult {
    guard let address = ServerURL(url)?.address else { throw Problem.noSuchScreen }
    let isRead = request.head.method == .get || request.head.method == .head
    let wait = isRead ? try? WaitPreference(of: request, try request.query, upTo: longestWait) : nil
    let time = Self.patience + .seconds(wait?.seconds ?? 0)
    do throws(ForwardedExchange.Failure) {
      let exchange = try client.send(
        message(request, body, to: address, isRead: isRead),
        to: address,
        until: monotonic() + time.wholeNanoseconds,
        // A node that hangs loses its lease.
        isPresent: { [nodes] in nodes.address(node) != nil }
      )
      return .parked(
        ForwardedRequest(exchange, isRead: isRead) { [self] failure in
          log(failure, url)
          return Self.problem(failure)
        }
      )
    } catch {
      log(error, url)
      throw Self.problem(error)
    }
  }

  /// The request as it is sent to the other node.
  private func message(_ request: Request, _ body: [UInt8], to address: PeerAddress, isRead: Bool) -> [UInt8] {
    let head = request.head
    // This node leaves the body of the response to `HEAD` out.
    let method = isRead ? "GET" : head.method.name
    let query = head.hasQuery ? "?\(head.query)" : ""
    var bytes = Array("\(method) \(head.path)\(query) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n".utf8)
    for name in Self.fields {
      for value in head.values(name) { bytes += Array("\(name.text): ".utf8) + value + Array("\r\n".utf8) }
    }
    if let id = request.id { bytes += Array("\(FieldName.xRequestID.text): \(id)\r\n".utf8) }
    bytes += credentials.lines(for: request.peer)
    if head.method == .post { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
    return bytes + Array("\r\n".utf8) + body
  }

  /// Logs that another node did not respond, so that a wrong `--node-address` is noticed.
  private func log(_ failure: ForwardedExchange.Failure, _ url: String) {
    let reason: String
    switch failure {
    case .refused: reason = "it refuses connections"
    case .unreachable: reason = "it cannot be reached"
    case .timedOut: reason = "it does not respond in time"
    case .broken: reason = "its response is malformed or incomplete"
    case .tooLarge: reason = "its response is too large"
    case .full, .shutDown: return
    }
    let now = monotonic()
    let isDue = lastReport.withLock { last in
      if let last, now - last < Self.reportInterval { return false }
      last = now
      return true
    }
    guard isDue else { return }
    logger.log(
      .warning,
      "a request for a screen of another node failed: check that node and its --node-address",
      ["address": .string(url), "error": .string(reason)]
    )
  }

  private static func problem(_ failure: ForwardedExchange.Failure) -> Problem {
    switch failure {
    // The node has stopped, and its screens with it.
    case .refused: .noSuchScreen
    case .full: .overloaded("This server forwards as many requests for screens of other nodes as it can.")
    case .shutDown: .overloaded(Problem.shuttingDown)
    case .unreachable, .timedOut, .broken, .tooLarge:
      .overloaded(
        "The server that has this screen does not respond. It may have performed the actions nevertheless: send them again "
          + "with the same Idempotency-Key."
      )
    }
  }
}

extension Route {
  /// The route of a node that forwards requests for the screens of other nodes.
  package func forwarding(by forwarder: ScreenForwarder?) -> Route {
    guard let forwarder else { return self }
    return handled { request, handler in try forwarder.result(for: request) ?? handler(request) }
  }
}
