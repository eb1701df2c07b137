import CLockstepLinux
import LockstepHTTP
import LockstepThreading
import LockstepTime

/// What answers a server's requests. It never fails: an error is a response too.
public typealias Responder = @Sendable (Request) -> HandlerResult

/// What the answer to something that isn't a request gets besides, by the `Origin` that was found in it.
public typealias RefusalFields = @Sendable (_ origin: String?) -> HeaderFields

/// An HTTP server: event loops, one thread each, and what they share.
public final class Server: Sendable {
  /// What a server is made of.
  public struct Configuration: Sendable {
    /// The name or address to listen on. `::` takes IPv6 and IPv4. Default `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The port; 0 takes a free one. Default 0.
    public var port = 0
    /// How many event loops, each with a thread. Default 1.
    public var loops = 1
    /// What the server bears with.
    public var limits = Limits()
    /// What the engine's own refusals carry besides: what lets a page of another origin read them. Default: nothing.
    public var refusalFields: RefusalFields = { _ in HeaderFields() }
    /// How many connections over `Limits.connections` are answered with 503 at once, beside those that are served. Past it
    /// they are closed without an answer. Each takes a descriptor until it has its answer, two seconds at most.
    /// Default 256.
    public var refusals = 256
    /// Told why no connection can be accepted at the moment, once a minute at most. Default: nobody.
    public var cannotAccept: @Sendable (SystemError) -> Void = { _ in }
    /// Gives memory that is free in this process back to the system. Called on a loop some time
    /// after much output was held, so it must not block. Default: `malloc_trim`, on a thread of its
    /// own.
    public var returnMemory: @Sendable () -> Void = {
      guard let thread = try? NamedThread(name: "trim", { malloc_trim(0) }) else { return }
      thread.detach()
    }

    /// The defaults.
    public init() {}
  }

  /// Where it listens: with the port that was free, when 0 was asked for.
  public let address: PeerAddress
  private let loops: [EventLoop]
  private let shared: SharedState
  private let threads = LockedState<[NamedThread]>([])

  /// Listens, and serves once it's started: until then clients wait in the backlog.
  ///
  /// Throws when the address can't be listened on, also when another server has it.
  public init(_ configuration: Configuration, time: TimeSource = .system) throws(SystemError) {
    let shared = SharedState()
    let listeners = try Self.listen(configuration)
    var loops: [EventLoop] = []
    for (index, listener) in listeners.enumerated() {
      loops.append(
        try EventLoop(
          index: index,
          listener: listener,
          configuration: configuration,
          time: time,
          shared: shared
        )
      )
    }
    address = listeners[0].address
    self.loops = loops
    self.shared = shared
  }

  /// Serves from now on: `respond` answers every request, on its connection's loop. To be called once.
  ///
  /// Throws when the system has no thread for a loop; nothing is served then.
  public func start(respond: @escaping Responder) throws(NamedThread.NotStarted) {
    try start(noteRefusal: { _ in }, responderOfLoop: { _ in respond })
  }

  /// The same with a responder for each loop, by the loop's index, and with somebody who is told of every answer that the
  /// engine gives by itself, on the connection's loop.
  ///
  /// What loops share they also count references of, and each count sends a cache line from core to core: a responder
  /// that shares nothing hot with the others makes several loops nearly as fast as they are alone.
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

  /// Stops: accepts no more connections, closes those without a request, cancels the tasks of running requests so that
  /// who waits answers now, and ends when the last is answered or `Limits.drainTime` is over. Returns at once.
  public func drain() {
    for loop in loops { loop.post(.drain) }
  }

  /// Returns when the server has ended after `drain()`. To be called once, and not on a loop.
  public func join() {
    for thread in threads.withLock({ $0 }) { thread.join() }
  }

  /// What was counted so far.
  public var counters: ServerCounters {
    var total = ServerCounters()
    for loop in loops { loop.counters.add(to: &total) }
    total.bodyBytes = shared.bodyBytes.load(ordering: .relaxed)
    total.outputBytes = shared.outputBytes.load(ordering: .relaxed)
    return total
  }

  /// Has the loops look at the time again: for whoever hands in a clock that is moved by hand.
  public func lookAtClock() {
    for loop in loops { loop.post(.lookAtClock) }
  }

  /// One socket a loop. With several, `SO_REUSEPORT` would let a second server listen beside this one and take half of
  /// its clients, so a socket without it asks first whether the port is free.
  private static func listen(_ configuration: Configuration) throws(SystemError) -> [ListeningSocket] {
    let first = try ListeningSocket(host: configuration.host, port: configuration.port, isShared: false)
    guard configuration.loops > 1 else { return [first] }
    first.close()
    var sockets: [ListeningSocket] = []
    for _ in 0..<configuration.loops {
      do throws(SystemError) {
        sockets.append(
          try ListeningSocket(host: configuration.host, port: first.address.port, isShared: true)
        )
      } catch {
        for socket in sockets { socket.close() }
        throw error
      }
    }
    return sockets
  }
}
