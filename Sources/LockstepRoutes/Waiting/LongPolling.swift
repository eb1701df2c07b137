import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync
import Synchronization

/// Lets requests wait for changes of a user's state.
struct LongPolling: Sendable {
  let waiters: WaiterRegistry<UserID>
  let cache: StateCache
  let registry: RegisteredLedger
  let directory: SessionDirectory
  /// The longest wait, in seconds.
  let longest: Int

  func preference(of request: Request, _ query: QueryParameters) throws(Problem) -> WaitPreference? {
    try WaitPreference(of: request, query, upTo: longest)
  }

  /// Watches the state of a session's user. Throws `too-many-requests` if too many requests wait.
  func watch(for session: LiveSession) throws(Problem) -> StateWatcher {
    StateWatcher(of: session, seat: try seat(for: session), cache: cache, registry: registry)
  }

  func seat(for session: LiveSession) throws(Problem) -> WaiterRegistry<UserID>.Seat {
    if let seat = waiters.seat(for: session.user) { return seat }
    throw Problem(
      .tooManyRequests,
      detail: "Too many requests wait already. Let one connection wait for all collections: GET /v1/changes.",
      fields: HeaderFields([.retryAfter: "1"])
    )
  }

  /// Responds with the current state, or lets the request wait. A request that gets a response at
  /// once needs no seat.
  func wait(
    _ request: Request,
    for preference: WaitPreference,
    of session: LiveSession,
    respond: @escaping @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult
  ) throws -> HandlerResult {
    let first = { @Sendable (cached: CachedState) throws -> HandlerResult in
      let registered = registry.current
      let park = { @Sendable () throws -> HandlerResult in
        let watcher = try watch(for: session)
        watcher.note(cached, registered)
        let poll = LongPoll(deadline: preference.deadline(for: request), watcher) { poll, isLast in
          try watcher.load { cached, registered in
            switch try respond(cached, registered, StateCheck(isFirst: false, isLast: isLast)) {
            case .answer(let answer): answer
            case .unchanged: .parked(poll)
            case .later(let work): .async { try await work() ?? .parked(poll) }
            }
          }
        }
        return .parked(poll)
      }
      switch try respond(cached, registered, StateCheck(isFirst: true, isLast: preference.seconds == 0)) {
      case .answer(let answer): return answer
      case .unchanged: return try park()
      case .later(let work): return .async { try await work() ?? park() }
      }
    }
    if let cached = cache.state(of: session.user) { return try first(cached) }
    return .async { try first(try await cache.load(session.user)) }
  }
}

/// Watches a user's state: remembers the state that was seen last, and knows whether there is a
/// newer one.
final class StateWatcher: Watcher {
  let session: LiveSession
  let seat: WaiterRegistry<UserID>.Seat
  private let cache: StateCache
  private let registry: RegisteredLedger
  private let seenRevision = Atomic(-1)
  private let seenRegistered = Atomic(-1)

  init(of session: LiveSession, seat: WaiterRegistry<UserID>.Seat, cache: StateCache, registry: RegisteredLedger) {
    self.session = session
    self.seat = seat
    self.cache = cache
    self.registry = registry
  }

  var hasChanged: Bool {
    guard !session.isEnded, let cached = cache.state(of: session.user) else { return true }
    return cached.state.revision.rawValue != seenRevision.load(ordering: .relaxed)
      || registry.current.revision.rawValue != seenRegistered.load(ordering: .relaxed)
  }

  /// Passes the current state to `body`, at once if it is in memory. Throws if the session has
  /// ended.
  func load(_ body: @escaping @Sendable (CachedState, RegisteredDefaults) throws -> HandlerResult) throws
    -> HandlerResult
  {
    if session.isEnded { throw Problem.unauthorized(true) }
    if let (cached, registered) = cached { return try body(cached, registered) }
    return .async {
      let (cached, registered) = try await self.load()
      return try body(cached, registered)
    }
  }

  func load() async throws -> (CachedState, RegisteredDefaults) { noted(try await cache.load(session.user)) }

  var cached: (CachedState, RegisteredDefaults)? { cache.state(of: session.user).map(noted) }

  private func noted(_ cached: CachedState) -> (CachedState, RegisteredDefaults) {
    let registered = registry.current
    note(cached, registered)
    return (cached, registered)
  }

  func note(_ cached: CachedState, _ registered: RegisteredDefaults) {
    seenRevision.store(cached.state.revision.rawValue, ordering: .relaxed)
    seenRegistered.store(registered.revision.rawValue, ordering: .relaxed)
  }
}
