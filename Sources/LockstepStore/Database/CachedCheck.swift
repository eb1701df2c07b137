import LockstepThreading

/// A check that costs something, asked for by many: one runs at a time, everybody who asks meanwhile shares its outcome,
/// and so does everybody who asks within `lifetime` after it.
final class CachedCheck<Outcome: Sendable>: Sendable {
  private enum Turn {
    /// Nobody is at it: the caller runs the check for all.
    case lead
    /// Somebody has run it.
    case share(Outcome)
  }

  private struct State: Sendable {
    var isRunning = false
    var waiting: [CheckedContinuation<Turn, Never>] = []
    var last: (outcome: Outcome, at: Duration)?
  }

  private let state = LockedState(State())
  private let lifetime: Duration
  private let elapsed: @Sendable () -> Duration

  /// - Parameters:
  ///   - lifetime: How long an outcome is shared, from the moment it was known.
  ///   - elapsed: The time, which never goes back.
  init(lifetime: Duration, elapsed: @escaping @Sendable () -> Duration) {
    self.lifetime = lifetime
    self.elapsed = elapsed
  }

  /// The outcome of `check`, run now by this caller, or by another one who asked at about the same time.
  ///
  /// A caller whose task is cancelled still waits: others may depend on its check, which must come to its end anyway.
  nonisolated(nonsending) func outcome(of check: () async -> Outcome) async -> Outcome {
    switch await turn() {
    case .share(let outcome):
      return outcome
    case .lead:
      let outcome = await check()
      share(outcome)
      return outcome
    }
  }

  nonisolated(nonsending) private func turn() async -> Turn {
    await withCheckedContinuation { continuation in
      let turn = state.withLock { state -> Turn? in
        if state.isRunning {
          state.waiting.append(continuation)
          return nil
        }
        if let last = state.last, elapsed() - last.at < lifetime { return .share(last.outcome) }
        state.isRunning = true
        return .lead
      }
      if let turn { continuation.resume(returning: turn) }
    }
  }

  private func share(_ outcome: Outcome) {
    let waiting = state.withLock { state in
      let waiting = state.waiting
      state = State(last: (outcome, elapsed()))
      return waiting
    }
    for continuation in waiting { continuation.resume(returning: .share(outcome)) }
  }
}
