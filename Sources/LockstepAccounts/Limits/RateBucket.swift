import Synchronization

/// How much of a limit one client has used. Times are nanoseconds of the monotonic clock.
package final class RateBucket: Sendable {
  package enum Outcome: Equatable {
    case taken
    /// The limit is reached. A request is allowed after this many nanoseconds.
    case wait(Int64)
    /// The bucket was evicted. There may be a new one.
    case closed
  }

  /// When the whole burst is available again.
  private let restoredAt = Atomic(Int64.min)

  package init() {}

  package func take(_ limit: RateLimit, at now: Int64) -> Outcome {
    var restored = restoredAt.load(ordering: .relaxed)
    while true {
      if restored == .max { return .closed }
      let wait = limit.wait(restored, at: now)
      if wait > 0 { return .wait(wait) }
      let next = limit.restored(after: restored, at: now)
      let (isTaken, present) = restoredAt.compareExchange(expected: restored, desired: next, ordering: .relaxed)
      if isTaken { return .taken }
      restored = present
    }
  }

  package func hasAny(_ limit: RateLimit, at now: Int64) -> Bool {
    let restored = restoredAt.load(ordering: .relaxed)
    return restored != .max && limit.wait(restored, at: now) <= 0
  }

  /// The nanoseconds until the whole burst is available.
  package func recovery(at now: Int64) -> Int64 { max(restoredAt.load(ordering: .relaxed), now) - now }

  package func close() { restoredAt.store(.max, ordering: .relaxed) }
}
