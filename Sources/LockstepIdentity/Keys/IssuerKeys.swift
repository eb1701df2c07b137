import LockstepCryptography
import LockstepThreading
import LockstepTime

/// The keys of one issuer: fetched when they are needed, and by one fetch at a time for all
/// requests.
final class IssuerKeys: Sendable {
  private struct State: Sendable {
    var schedule = KeySchedule()
    var status: IssuerStatus
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  let trusted: TrustedIssuer
  private let fetcher: KeyFetcher
  private let tasks: TaskScope
  private let time: TimeSource
  private let report: @Sendable (KeyEvent) -> Void
  private let state: LockedState<State>

  init(
    _ trusted: TrustedIssuer,
    source: any DocumentSource,
    tasks: TaskScope,
    time: TimeSource,
    report: @escaping @Sendable (KeyEvent) -> Void
  ) {
    self.trusted = trusted
    fetcher = KeyFetcher(trusted, source: source)
    (self.tasks, self.time, self.report) = (tasks, time, report)
    state = LockedState(State(status: IssuerStatus(issuer: trusted.name)))
  }

  var status: IssuerStatus { state.withLock { $0.status } }

  /// The key for a token, with the generation of its key set. Waits for a fetch if it must.
  /// Cancelling the task does not end the wait, which the source bounds.
  nonisolated(nonsending) func key(
    _ id: String,
    for algorithm: SignatureAlgorithm
  ) async throws(TokenRefusal) -> (SignatureKey, generation: Int) {
    var hasWaited = false
    while true {
      let now = time.monotonic()
      let step = state.withLock { [hasWaited] state in
        state.schedule.step(keyID: id, algorithm: algorithm, now: now, hasWaited: hasWaited)
      }
      switch step {
      case .use(let key, let generation):
        if state.withLock({ $0.schedule.beginRefresh(now) }) { startFetch() }
        return (key, generation)
      case .refuse(let fault): throw .notValid(fault)
      case .unavailable(let nanoseconds):
        throw .keysUnavailable(issuer: trusted.name, retryAfter: .nanoseconds(nanoseconds))
      case .wait:
        await fetch()
        hasWaited = true
      }
    }
  }

  /// The generation of the key set, if it may be used without waiting. A remembered token of the
  /// same generation is still valid. Begins a refresh if it is due.
  func generation() -> Int? {
    let now = time.monotonic()
    let (generation, begins) = state.withLock { state in
      (state.schedule.generation(now: now), state.schedule.beginRefresh(now))
    }
    if begins { startFetch() }
    return generation
  }

  /// Fetches the keys, or waits for a fetch that runs. Returns at once if another fetch has just
  /// ended.
  nonisolated(nonsending) func fetch() async {
    let now = time.monotonic()
    await withCheckedContinuation { continuation in
      let (begins, waits) = state.withLock { state in
        let begins = state.schedule.begin(now)
        if state.schedule.isFetching { state.waiting.append(continuation) }
        return (begins, state.schedule.isFetching)
      }
      if begins { startFetch() }
      if !waits { continuation.resume() }
    }
  }

  /// Starts a task for the fetch, so that it goes on when the request that needs it is cancelled.
  private func startFetch() {
    do throws(TaskScope.ShutDownError) {
      try tasks.start { await self.runFetch() }
    } catch {
      end { state in
        state.schedule.fail(now: time.monotonic())
        return nil
      }
    }
  }

  private func runFetch() async {
    do throws(KeyFetchError) {
      let (keys, maxAge) = try await fetcher.fetch()
      // Without this, a mistake at the issuer would log all of its users out.
      if keys.count == 0, state.withLock({ $0.schedule.current.map { $0.keys.count > 0 } ?? false }) {
        throw KeyFetchError("the key set has no key that the server can use")
      }
      end { state in
        state.schedule.succeed(keys, maxAge: maxAge, now: time.monotonic())
        (state.status.keyCount, state.status.fetchedAt, state.status.lastFailure) = (keys.count, time.now(), nil)
        return .fetched(issuer: trusted.name, keys: keys.count, skipped: keys.skipped)
      }
    } catch {
      end { state in
        state.schedule.fail(now: time.monotonic())
        state.status.failureCount += 1
        state.status.lastFailure = error.reason
        return .failed(issuer: trusted.name, reason: error.reason, keepsKeys: state.schedule.current != nil)
      }
    }
  }

  /// Changes the state after a fetch, reports the event, and then continues the requests that wait.
  private func end(_ change: (inout State) -> KeyEvent?) {
    let (waiting, event) = state.withLock { state in
      defer { state.waiting = [] }
      return (state.waiting, change(&state))
    }
    if let event { report(event) }
    for request in waiting { request.resume() }
  }
}
