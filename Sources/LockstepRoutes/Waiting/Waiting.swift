import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync

/// What it takes to let a client wait.
package struct Waiting: Sendable {
  let room: WaitingRoom<UserID>
  let cache: StateCache
  let registry: RegisteredLedger
  let directory: SessionDirectory
  /// The longest that anybody is held, in seconds.
  let longest: Int

  package init(
    room: WaitingRoom<UserID>,
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
  func watch(for session: LiveSession) throws(Problem) -> StateWatch {
    StateWatch(of: session, seat: try seat(for: session), cache: cache, registry: registry)
  }

  /// A place among those who wait. Throws `too-many-requests` where there is none.
  func seat(for session: LiveSession) throws(Problem) -> WaitingRoom<UserID>.Seat {
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
    respond: @escaping @Sendable (HotState, RegisteredDefaults, Look) throws -> WaitingReply
  ) throws -> Answer {
    let first = { @Sendable (hot: HotState) throws -> Answer in
      let registered = registry.current
      let park = { @Sendable () throws -> Answer in
        let watch = try watch(for: session)
        watch.note(hot, registered)
        return .held(WaitingRequest(deadline: preference.deadline(for: request), watch: watch, respond: respond))
      }
      switch try respond(hot, registered, Look(isFirst: true, isLast: preference.seconds == 0)) {
      case .answer(let answer): return answer
      case .goOn: return try park()
      case .later(let work): return .then { try await work() ?? park() }
      }
    }
    if let hot = cache.state(of: session.user) { return try first(hot) }
    return .then { try first(try await cache.load(session.user)) }
  }
}
