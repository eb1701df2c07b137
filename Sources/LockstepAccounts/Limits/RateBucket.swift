import Synchronization

/// How much of a limit somebody has used, as one moment: the one at which all of it is there again (the generic cell rate
/// algorithm). Eight bytes, no lock, and no clock: the moments of the server's monotonic clock are handed in.
package struct RateBucket: ~Copyable, Sendable {
  package enum Outcome: Equatable {
    case taken
    /// Nothing is left; so many nanoseconds later there is.
    case wait(Int64)
    /// The bucket isn't anybody's any more: there may be a new one.
    case closed
  }

  private let restoredAt = Atomic(Int64.min)

  package init() {
  }

  /// Uses one up, if there is one.
  package func take(_ limit: RateLimit, at now: Int64) -> Outcome {
    let (interval, span) = (limit.interval, limit.span)
    var restored = restoredAt.load(ordering: .relaxed)
    while true {
      if restored == .max { return .closed }
      let next = max(restored, now) + interval
      if next - now > span { return .wait(next - now - span) }
      let (isTaken, present) = restoredAt.compareExchange(expected: restored, desired: next, ordering: .relaxed)
      if isTaken { return .taken }
      restored = present
    }
  }

  /// Whether there is one to be used up.
  package func hasAny(_ limit: RateLimit, at now: Int64) -> Bool {
    let restored = restoredAt.load(ordering: .relaxed)
    return restored != .max && max(restored, now) - now <= limit.span - limit.interval
  }

  /// How long until all is there again, in nanoseconds.
  package func recovery(at now: Int64) -> Int64 { max(restoredAt.load(ordering: .relaxed), now) - now }

  /// From now on it is nobody's.
  package func close() { restoredAt.store(.max, ordering: .relaxed) }
}

/// Whoever has a rate: a session, or an address.
package protocol RateLimited: AnyObject, Sendable {
  /// See `RateBucket`.
  func take(_ limit: RateLimit, at now: Int64) -> RateBucket.Outcome
  /// See `RateBucket`.
  func hasAny(_ limit: RateLimit, at now: Int64) -> Bool
  /// See `RateBucket`.
  func recovery(at now: Int64) -> Int64
}
