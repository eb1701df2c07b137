import LockstepThreading

/// An expensive check with many callers. One check runs at a time. All callers that arrive while it
/// runs, or within `lifetime` after it, get its outcome. A caller whose task is cancelled still
/// waits for the outcome.
final class CachedCheck<Outcome: Sendable>: Sendable {
  private let flights = SingleFlight<Bool, Outcome, Never>()
  private let last = LockedState<(outcome: Outcome, at: Duration)?>(nil)
  private let lifetime: Duration
  private let elapsed: @Sendable () -> Duration

  init(lifetime: Duration, elapsed: @escaping @Sendable () -> Duration) {
    self.lifetime = lifetime
    self.elapsed = elapsed
  }

  nonisolated(nonsending) func outcome(of check: () async -> Outcome) async -> Outcome {
    if let recent { return recent }
    return await flights.value(of: true) {
      if let recent { return recent }
      let outcome = await check()
      last.withLock { $0 = (outcome, elapsed()) }
      return outcome
    }
  }

  private var recent: Outcome? {
    last.withLock { $0 }.flatMap { elapsed() - $0.at < lifetime ? $0.outcome : nil }
  }
}
