import Synchronization

/// The counters of a server since it started, over all loops.
package enum ServerCounter: Int, CaseIterable, Sendable {
  /// Accepted connections, refused ones included.
  case accepted
  case open
  /// Connections beyond the limit, which got a 503 or were closed at once.
  case refused
  /// Requests that reached a handler, or got a reusable response.
  case requests
  /// Requests whose head or chunked coding was refused, or whose head came too slowly.
  case malformed
  case timedOut
  case received
  case sent
  /// Bytes of request bodies that are in memory now.
  case bodyBytes
  /// Bytes of output that are in memory now.
  case outputBytes
  /// Responses replaced by a 503 because there was no memory for them.
  case refusedResponses
  /// Connections closed because their client read too slowly, or no memory was left for its output.
  case slowReaders
  /// How often the server paused accepting because the system had no descriptor or memory.
  case acceptPauses
}

/// The counters of one loop, which any thread may read.
///
/// Only the loop writes them, so an addition is a load and a store, not a locked instruction.
final class LoopCounters: Sendable {
  private let counts = InlineArray<13, Atomic<Int>> { _ in Atomic(0) }

  subscript(counter: ServerCounter) -> Int { counts[counter.rawValue].load(ordering: .relaxed) }

  @inline(__always)
  func add(_ amount: Int, to counter: ServerCounter) {
    counts[counter.rawValue].store(self[counter] &+ amount, ordering: .relaxed)
  }
}
