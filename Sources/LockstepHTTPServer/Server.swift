import CLockstepLinux
import LockstepHTTP
import LockstepThreading
import LockstepTime

/// Responds to the requests of a server. It never throws: an error is a response too.
public typealias Responder = @Sendable (Request) -> HandlerResult

/// A response that the server made without a handler, because it got no valid request or had no
/// room.
///
/// It contains nothing that the client has sent, so it may be logged.
public struct ServerRefusal: Sendable {
  /// The client's address.
  public let peer: PeerAddress
  /// The problem that the client got.
  public let kind: ProblemKind
  /// The index of the event loop, from 0.
  public let loop: Int
}

/// An HTTP server: event loops with one thread each, and the state that they share.
public final class Server: Sendable {
  /// The settings of a server.
  public struct Configuration: Sendable {
    /// The name or address to listen on. `::` accepts IPv6 and IPv4. Default `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The port; 0 means any free one. Default 0.
    public var port = 0
    /// The number of event loops, each with a thread. Default 1.
    public var loops = 1
    /// The limits.
    public var limits = Limits()
    /// Additional fields of a `ServerRefusal`, by the `Origin` of the request if it had one. They
    /// let pages of other origins read the response. Default: none.
    public var refusalFields: @Sendable (_ origin: String?) -> HeaderFields = { _ in HeaderFields() }
    /// How many connections beyond `Limits.connections` get a 503 at the same time. Default 256.
    ///
    /// Each takes a descriptor until the client has its response, for two seconds at most. Past the
    /// limit, the server closes connections without a response.
    public var refusals = 256
    /// How many connections may be open at the same time, also those that get a refusal. Past it,
    /// clients wait in the backlog. Default: as many as the system allows.
    public var descriptors = Int.max
    /// Called with the reason when the server cannot accept connections, at most once a minute.
    /// Default: does nothing.
    public var cannotAccept: @Sendable (SystemError) -> Void = { _ in }
    /// Returns free memory of the process to the system. Called on a loop some time after much
    /// output was in memory, so it must not block. Default: `malloc_trim`, on a thread of its own.
    public var returnMemory: @Sendable () -> Void = {
      guard let thread = try? NamedThread(name: "trim", { malloc_trim(0) }) else { return }
      thread.detach()
    }

    /// The default settings.
    public init() {}
  }

  /// The address that the server listens on, with the actual port.
  public let address: PeerAddress
  private let loops: [EventLoop]
  private let shared: SharedState
  private let threads = LockedState<[NamedThread]>([])

  /// Listens. Clients wait in the backlog until `start`. Throws if the address is not available,
  /// also because another server uses it.
  public init(_ configuration: Configuration, time: TimeSource = .system) throws(SystemError) {
    let shared = SharedState()
    let listeners = try Self.listen(configuration)
    address = listeners[0].address
    loops = try listeners.enumerated().map { (index, listener) throws(SystemError) in
      try EventLoop(index: index, listener: listener, configuration: configuration, time: time, shared: shared)
    }
    self.shared = shared
  }

  /// Starts to serve requests. `respond` is called on the loop of the connection. To be called
  /// once.
  ///
  /// Throws if the system has no thread for a loop; no request is served then.
  public func start(respond: @escaping Responder) throws(NamedThread.NotStarted) {
    try start(noteRefusal: { _ in }, responderOfLoop: { _ in respond })
  }

  /// Starts to serve requests, with a responder for each loop by its index. `noteRefusal` is called
  /// on the loop of the connection for each response without a handler.
  ///
  /// Objects that loops share have shared reference counts, and each change of a count moves a
  /// cache line between cores. Responders that share nothing hot let loops run at full speed.
  public func start(
    noteRefusal: @escaping @Sendable (ServerRefusal) -> Void,
    responderOfLoop: (Int) -> Responder
  ) throws(NamedThread.NotStarted) {
    do {
      for loop in loops {
        let respond = responderOfLoop(loop.index)
        let thread = try NamedThread(name: "loop-\(loop.index)") { loop.run(respond, noteRefusal: noteRefusal) }
        threads.withLock { $0.append(thread) }
      }
    } catch {
      drain()
      join()
      throw error
    }
  }

  /// Begins to shut down and returns at once.
  ///
  /// The server accepts no more connections and closes idle ones. It cancels the tasks of running
  /// requests, so that waiting ones respond now. It ends when all have responded or
  /// `Limits.drainTime` is over.
  public func drain() {
    for loop in loops { loop.drain() }
  }

  /// Returns when the server has ended after `drain()`. To be called once, and not on a loop.
  public func join() {
    for thread in threads.withLock({ $0 }) { thread.join() }
  }

  /// The server's counters.
  public var counters: ServerCounters {
    var total = ServerCounters()
    for loop in loops { loop.counters.add(to: &total) }
    total.bodyBytes = shared.bodyBytes.load(ordering: .relaxed)
    total.outputBytes = shared.outputBytes.load(ordering: .relaxed)
    return total
  }

  /// Makes all loops read the clock. Call it after moving a clock by hand.
  public func lookAtClock() {
    for loop in loops { loop.wake([]) }
  }

  /// Opens one socket for each loop. Several need `SO_REUSEPORT`, which would also let a second
  /// server take half of the clients, so a socket without it first checks that the port is free.
  private static func listen(_ configuration: Configuration) throws(SystemError) -> [ListeningSocket] {
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
