import LockstepHTTP
import LockstepThreading
import LockstepTime
import Synchronization

/// Sends requests to other servers, thousands at a time, from one thread that never blocks. Each
/// request has a connection of its own. The thread starts with the first request.
package final class ForwardingClient: Sendable {
  package struct Bounds: Sendable {
    /// How many requests may be forwarded at the same time.
    package var exchanges = 1_024
    /// The largest response body, in bytes. A stream may be longer.
    package var responseBytes = 16 * 1024 * 1024
    /// How many bytes of incomplete responses may be in memory.
    package var memory = 64 * 1024 * 1024
    /// How long a stream may be silent, in nanoseconds. The other server sends a comment every 15 s.
    package var silence: Int64 = 30_000_000_000
    /// How long the other server may take after `ForwardedExchange.makeDue()`, in nanoseconds.
    package var hurry: Int64 = 5_000_000_000
    /// How often an exchange asks whether the other server is still there, in nanoseconds.
    package var presenceInterval: Int64 = 1_000_000_000
    /// How long the other server must be absent before an exchange fails, in nanoseconds. If the lease of a server was
    /// over only for a moment, its waiting requests continue.
    package var longestAbsence: Int64 = 7_000_000_000

    package init() {}
  }

  private struct Contents: Sendable {
    var loop: ForwardingLoop?
    var thread: NamedThread?
    var isShutDown = false
  }

  private let bounds: Bounds
  private let time: TimeSource
  private let contents = LockedState(Contents())
  private let counts = ForwardingCounts()
  private let tokens = Atomic<UInt64>(0)

  package init(_ bounds: Bounds = Bounds(), time: TimeSource) {
    (self.bounds, self.time) = (bounds, time)
  }

  /// How many requests are forwarded at present.
  package var running: Int { counts.running.load(ordering: .relaxed) }

  /// How many requests have been forwarded.
  package var total: UInt64 { tokens.load(ordering: .relaxed) }

  /// How many requests have got no response.
  package var failures: Int { counts.failures.load(ordering: .relaxed) }

  /// Sends a request, whole as it goes over the wire, to a server. It must ask the server to close
  /// the connection. If there is no response at `deadline`, the exchange fails. It fails sooner if `isPresent`
  /// says for some seconds that the server is not there. The thread calls `isPresent`, so it must not block.
  package func send(
    _ request: [UInt8],
    to address: PeerAddress,
    until deadline: Int64,
    isPresent: @escaping @Sendable () -> Bool = { true }
  ) throws(ForwardedExchange.Failure) -> ForwardedExchange {
    let loop = try startedLoop()
    guard counts.running.add(1, ordering: .relaxed).newValue <= bounds.exchanges else {
      counts.running.subtract(1, ordering: .relaxed)
      counts.failures.add(1, ordering: .relaxed)
      throw .full
    }
    let token = tokens.add(1, ordering: .relaxed).newValue
    let slot = ExchangeSlot()
    let start = ExchangeStart(
      token: token,
      slot: slot,
      request: request,
      address: address,
      deadline: deadline,
      isPresent: isPresent
    )
    guard loop.post({ $0.started.append(start) }) else {
      counts.running.subtract(1, ordering: .relaxed)
      throw .shutDown
    }
    return ForwardedExchange(slot, token: token) { [weak loop] token, command in
      loop?.post { $0.commands.append((token, command)) }
    }
  }

  /// Makes the thread read the clock. For a test that has moved its clock.
  package func lookAtClock() { contents.withLock { $0.loop }?.post { _ in } }

  /// Ends all exchanges, and blocks until the thread has ended.
  package func shutDown() {
    let contents = contents.withLock { contents in
      contents.isShutDown = true
      return contents
    }
    contents.loop?.post { $0.stops = true }
    contents.thread?.join()
    self.contents.withLock { ($0.loop, $0.thread) = (nil, nil) }
  }

  private func startedLoop() throws(ForwardedExchange.Failure) -> ForwardingLoop {
    try contents.withLock { contents throws(ForwardedExchange.Failure) in
      guard !contents.isShutDown else { throw .shutDown }
      if let loop = contents.loop { return loop }
      do {
        let loop = try ForwardingLoop(bounds, time: time, counts: counts)
        contents.thread = try NamedThread(name: "forward") { loop.run() }
        contents.loop = loop
        return loop
      } catch {
        throw .full
      }
    }
  }
}

/// The counters of a client, which its thread changes too.
final class ForwardingCounts: Sendable {
  let running = Atomic(0)
  let failures = Atomic(0)
}

/// A request that is to be forwarded.
struct ExchangeStart: Sendable {
  let token: UInt64
  let slot: ExchangeSlot
  let request: [UInt8]
  let address: PeerAddress
  let deadline: Int64
  let isPresent: @Sendable () -> Bool
}
