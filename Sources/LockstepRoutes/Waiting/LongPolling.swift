import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync

/// What it takes to let a client wait.
package struct LongPolling: Sendable {
  let room: WaiterRegistry<UserID>
  let cache: StateCache
  let registry: RegisteredLedger
  let directory: SessionDirectory
  /// The longest that anybody is held, in seconds.
  let longest: Int

  package init(
    room: WaiterRegistry<UserID>,
    cache: StateCache,
    registry: RegisteredLedger,
    directory: SessionDirectory,
    longest: Int
  ) {
    self.room = room
    self.cache = cache
    self.registry = registry
    self.directory = directory
    self.longest = longest
  }

  /// How long a request wants to wait; nil where it doesn't.
  func preference(of request: Request, _ query: QueryParameters) throws(Problem) -> WaitPreference? {
    try WaitPreference(of: request, query, upTo: longest)
  }

  /// A watch on a session's user. Throws `too-many-requests` where too many wait already.
  func watch(for session: LiveSession) throws(Problem) -> StateWatcher {
    StateWatcher(of: session, seat: try seat(for: session), cache: cache, registry: registry)
  }

  /// A place among those who wait. Throws `too-many-requests` where there is none.
  func seat(for session: LiveSession) throws(Problem) -> WaiterRegistry<UserID>.Seat {
    guard let seat = room.seat(for: session.user) else {
      var problem = Problem(
        .tooManyRequests,
        detail: "Too many requests wait already. Let one connection wait for all collections: GET /v1/changes."
      )
      problem.fields.append(.retryAfter, "1")
      throw problem
    }
    return seat
  }

  /// Answers a request by the present, or has it wait. Who is told something at once takes nobody's place.
  func wait(
    _ request: Request,
    for preference: WaitPreference,
    of session: LiveSession,
    respond: @escaping @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult
  ) throws -> HandlerResult {
    let first = { @Sendable (hot: CachedState) throws -> HandlerResult in
      let registered = registry.current
      let park = { @Sendable () throws -> HandlerResult in
        let watch = try watch(for: session)
        watch.note(hot, registered)
        return .parked(LongPoll(deadline: preference.deadline(for: request), watch: watch, respond: respond))
      }
      switch try respond(hot, registered, StateCheck(isFirst: true, isLast: preference.seconds == 0)) {
      case .answer(let answer): return answer
      case .goOn: return try park()
      case .later(let work): return .async { try await work() ?? park() }
      }
    }
    if let hot = cache.state(of: session.user) { return try first(hot) }
    return .async { try first(try await cache.load(session.user)) }
  }
}
