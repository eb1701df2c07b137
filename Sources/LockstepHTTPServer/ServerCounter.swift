import Synchronization

/// The server's counters since it started, over all loops.
public struct ServerCounters: Sendable, Equatable {
  /// Accepted connections, refused ones included.
  package var accepted = 0
  package var open = 0
  /// Connections that got a 503 because there were too many.
  package var refused = 0
  /// Requests that reached a handler.
  package var requests = 0
  /// Requests that the server itself refused: malformed, too large, too slow.
  package var malformed = 0
  package var timedOut = 0
  package var received = 0
  package var sent = 0
  /// Bytes of request bodies that are in memory now.
  package var bodyBytes = 0
  /// Bytes of output that wait in memory now.
  package var outputBytes = 0
  /// Responses replaced by a 503 because there was no memory for them.
  package var refusedResponses = 0
  /// Connections closed because their client read too slowly, or no memory was left for its output.
  package var slowReaders = 0
  /// How often the server paused accepting because the system had no descriptor or memory.
  package var acceptPauses = 0

  package init() {}
}

/// The counters of one loop, which any thread may read.
///
/// Only the loop writes them, so an addition is a load and a store, not a locked instruction.
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
  borrowing func addAsOnlyWriter(_ amount: Int) {
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
