import Synchronization

/// What the engine counted since it started, over all loops.
public struct ServerCounters: Sendable, Equatable {
  /// Connections accepted, with those refused for the limit.
  public var accepted = 0
  /// Connections open now.
  public var open = 0
  /// Connections answered with 503 because there were too many.
  public var refused = 0
  /// Requests whose handler was asked.
  public var requests = 0
  /// Requests that the engine itself refused: malformed, too large, too slow.
  public var malformed = 0
  /// Connections ended by a time-out.
  public var timedOut = 0
  /// Bytes received.
  public var received = 0
  /// Bytes sent.
  public var sent = 0
  /// Bytes of request bodies that are held in memory now.
  public var bodyBytes = 0
  /// Bytes of output that wait in memory now for clients to take them.
  public var outputBytes = 0
  /// Responses replaced by 503 because there was no memory to keep them in until their client takes
  /// them.
  public var refusedResponses = 0
  /// Connections closed because their client took its output too slowly, or because there was no
  /// memory left for what it didn't take.
  public var slowReaders = 0
  /// How often accepting had to pause because the system had no descriptor or memory left.
  public var acceptPauses = 0

  /// Nothing counted yet.
  public init() {}
}

/// One loop's counters: written by that loop alone, read by anyone.
///
/// Because there is one writer, an addition is a load and a store, not a locked instruction.
final class LoopCounters: Sendable {
  let accepted = Atomic(0)
  let open = Atomic(0)
  let refused = Atomic(0)
  let requests = Atomic(0)
  let malformed = Atomic(0)
  let timedOut = Atomic(0)
  let received = Atomic(0)
  let sent = Atomic(0)
  let acceptPauses = Atomic(0)
  let refusedResponses = Atomic(0)
  let slowReaders = Atomic(0)

  func add(to total: inout ServerCounters) {
    total.accepted += accepted.load(ordering: .relaxed)
    total.open += open.load(ordering: .relaxed)
    total.refused += refused.load(ordering: .relaxed)
    total.requests += requests.load(ordering: .relaxed)
    total.malformed += malformed.load(ordering: .relaxed)
    total.timedOut += timedOut.load(ordering: .relaxed)
    total.received += received.load(ordering: .relaxed)
    total.sent += sent.load(ordering: .relaxed)
    total.acceptPauses += acceptPauses.load(ordering: .relaxed)
    total.refusedResponses += refusedResponses.load(ordering: .relaxed)
    total.slowReaders += slowReaders.load(ordering: .relaxed)
  }
}

extension Atomic<Int> {
  /// Adds where this thread is the only one that ever writes.
  borrowing func addAsOnlyWriter(_ amount: Int) {
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
