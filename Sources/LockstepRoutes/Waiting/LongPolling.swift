import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync

/// Lets requests wait for changes of a user's state.
package struct LongPolling: Sendable {
  let waiters: WaiterRegistry<UserID>
  let cache: StateCache
  let registry: RegisteredLedger
  let directory: SessionDirectory
  /// The longest wait, in seconds.
  let longest: Int

  package init(
    waiters: WaiterRegistry<UserID>,
    cache: StateCache,
    registry: RegisteredLedger,
    directory: SessionDirectory,
    longest: Int
  ) {
    self.waiters = waiters
    self.cache = cache
    self.registry = registry
    self.directory = directory
    self.longest = longest
  }

  /// How long a request wants to wait; `nil` if it does not.
  func preference(of request: Request, _ query: QueryParameters) throws(Problem) -> WaitPreference? {
    try WaitPreference(of: request, query, upTo: longest)
  }

  /// Watches the state of a session's user. Throws `too-many-requests` if too many requests wait.
  func watch(for session: LiveSession) throws(Problem) -> StateWatcher {
    StateWatcher(of: session, seat: try seat(for: session), cache: cache, registry: registry)
  }

  /// A seat in the waiter registry. Throws `too-many-requests` if too many requests wait.
  func seat(for session: LiveSession) throws(Problem) -> WaiterRegistry<UserID>.Seat {
    guard let seat = waiters.seat(for: session.user) else {
      var problem = Problem(
        .tooManyRequests,
        detail: "Too many requests wait already. Let one connection wait for all collections: GET /v1/changes."
      )
      problem.fields.append(.retryAfter, "1")
      throw problem
    }
    return seat
  }

  /// Responds with the current state, or lets the request wait. A request that gets a response at
  /// once needs no seat.
  func wait(
    _ request: Request,
    for preference: WaitPreference,
    of session: LiveSession,
    respond: @escaping @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult
  ) throws -> HandlerResult {
    let first = { @Sendable (hot: CachedState) throws -> HandlerResult in
      let registered = registry.current
      let park = { @Sendable () throws -> HandlerResult in
        let watcher = try watch(for: session)
        watcher.note(hot, registered)
        let poll = LongPoll(deadline: preference.deadline(for: request), watcher) { poll, isLast in
          try watcher.load { hot, registered in
            switch try respond(hot, registered, StateCheck(isFirst: false, isLast: isLast)) {
            case .answer(let answer): answer
            case .unchanged: .parked(poll)
            case .later(let work): .async { try await work() ?? .parked(poll) }
            }
          }
        }
        return .parked(poll)
      }
      switch try respond(hot, registered, StateCheck(isFirst: true, isLast: preference.seconds == 0)) {
      case .answer(let answer): return answer
      case .unchanged: return try park()
      case .later(let work): return .async { try await work() ?? park() }
      }
    }
    if let hot = cache.state(of: session.user) { return try first(hot) }
    return .async { try first(try await cache.load(session.user)) }
  }
}
