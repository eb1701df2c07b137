import CLockstepLinux
import LockstepHTTP
import LockstepThreading
import LockstepTime

/// Makes the response to a request. It never throws, because an error is a response too.
package typealias Responder = @Sendable (Request) -> HandlerResult

/// Names the user or the client that a request is from. The server asks only if output stays in
/// memory, and then counts that output for the owner. Nil: no owner.
package typealias OutputOwner = @Sendable (RequestHead, PeerAddress) -> String?

/// A response that the server made without a handler, because the request was not valid or the
/// server had no room. It contains nothing that the client has sent, so it may be logged.
package struct ServerRefusal: Sendable {
  package let peer: PeerAddress
  package let kind: ProblemKind
  /// The index of the event loop, from 0.
  package let loop: Int
}

/// An HTTP server: event loops with one thread each, and the state that they share.
package final class Server: Sendable {
  package struct Configuration: Sendable {
    /// The name or address to listen on. `::` accepts IPv6 and IPv4.
    package var host = "127.0.0.1"
    /// The port; 0 means any free one.
    package var port = 0
    /// The path of a Unix socket to listen on instead, with one loop. Only processes of this user and of root can
    /// connect.
    package var socketPath: String?
    /// The number of event loops, each with a thread.
    package var loops = 1
    package var limits = Limits()
    /// How many bytes the requests and responses may take that all loops together keep, to send
    /// responses again. 0: none are kept.
    package var recentRequestBytes = 32 * 1024 * 1024
    /// Additional header fields of a refusal, for the `Origin` of the request if it had one. They
    /// let pages of other origins read the response.
    package var refusalFields: @Sendable (_ origin: String?) -> HeaderFields = { _ in HeaderFields() }
    /// How many connections beyond `Limits.connections` get a 503 at the same time. Each takes a
    /// descriptor, for four seconds at most. If more connect, the server closes their connections
    /// at once.
    package var refusals = 256
    /// How many connections may be open, refused ones included. If that many are open, new clients
    /// wait in the backlog.
    package var descriptors = Int.max
    /// Called with the reason when the server cannot accept connections, at most once a minute.
    package var cannotAccept: @Sendable (SystemError) -> Void = { _ in }
    /// Returns free memory of the process to the system. Called some time after much output or many
    /// bodies were in memory. It runs on an event loop, so it must not block.
    package var returnMemory: @Sendable () -> Void = {
      guard let thread = try? NamedThread(name: "trim", { malloc_trim(0) }) else { return }
      thread.detach()
    }

    package init() {}
  }

  /// The address that the server listens on, with the actual port.
  package let address: PeerAddress
  private let loops: [EventLoop]
  private let shared: SharedState
  private let threads = LockedState<[NamedThread]>([])

  /// Listens. New clients wait in the backlog until `start`. Throws if the address is not
  /// available.
  package init(_ configuration: Configuration, time: TimeSource = .system) throws(SystemError) {
    let shared = SharedState(limits: configuration.limits)
    let listeners = try Self.listen(configuration)
    address = listeners[0].address
    loops = try listeners.enumerated().map { (index, listener) throws(SystemError) in
      try EventLoop(index: index, listener: listener, configuration: configuration, time: time, shared: shared)
    }
    self.shared = shared
  }

  /// Starts to serve requests. `responderOfLoop` makes a responder for each loop by its index. A
  /// loop calls its responder for each request, and `noteRefusal` for each refusal. `outputOwner`
  /// names the owner of long output. Call `start` once.
  ///
  /// If loops share an object, each change of its reference count moves a cache line between cores.
  /// So each responder should use its own objects for a request.
  ///
  /// Throws if the system has no thread for a loop. The server then serves no request.
  package func start(
    noteRefusal: @escaping @Sendable (ServerRefusal) -> Void,
    outputOwner: @escaping OutputOwner = { _, _ in nil },
    responderOfLoop: (Int) -> Responder
  ) throws(NamedThread.NotStarted) {
    do {
      for loop in loops {
        let respond = responderOfLoop(loop.index)
        let thread = try NamedThread(name: "loop-\(loop.index)") {
          loop.run(respond, noteRefusal: noteRefusal, outputOwner: outputOwner)
        }
        threads.withLock { $0.append(thread) }
      }
    } catch {
      drain()
      join()
      throw error
    }
  }

  /// Begins to shut down. The server accepts no more connections and closes idle ones. It cancels
  /// the tasks of running requests, so that waiting ones respond now. The server ends when all have
  /// responded or `Limits.drainTime` is over.
  package func drain() {
    for loop in loops { loop.drain() }
  }

  /// Returns when the server has ended after `drain()`. Call it once, and not on a loop.
  package func join() {
    for thread in threads.withLock({ $0 }) { thread.join() }
  }

  package func count(_ counter: ServerCounter) -> Int {
    switch counter {
    case .bodyBytes: shared.bodies.bytes
    case .outputBytes: shared.output.bytes
    default: loops.reduce(0) { $0 + $1.counters[counter] }
    }
  }

  /// Makes all loops read the clock. For a test that has moved its clock.
  package func lookAtClock() {
    for loop in loops { loop.wake([]) }
  }

  /// Opens one socket for each loop. Several sockets on one port need `SO_REUSEPORT`, which would
  /// also let a second server take half of the clients. So a socket without that option first
  /// checks that the port is free.
  private static func listen(_ configuration: Configuration) throws(SystemError) -> [ListeningSocket] {
    if let path = configuration.socketPath { return [try ListeningSocket(path: path)] }
    let first = try ListeningSocket(host: configuration.host, port: configuration.port, isShared: false)
    guard configuration.loops > 1 else { return [first] }
    first.close()
    var sockets: [ListeningSocket] = []
    do throws(SystemError) {
      for _ in 0..<configuration.loops {
        sockets.append(try ListeningSocket(host: configuration.host, port: first.address.port, isShared: true))
      }
      return sockets
    } catch {
      for socket in sockets { socket.close() }
      throw error
    }
  }
}
