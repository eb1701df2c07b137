import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync
import Synchronization

/// Lets requests wait for changes of a user's state.
package struct LongPolling: Sendable {
  package let waiters: WaiterRegistry<UserID>
  let cache: StateCache
  let registry: RegisteredLedger
  let directory: SessionDirectory
  /// The longest wait, in seconds.
  let longest: Int
  let freshness: Freshness?

  func preference(of request: Request, _ query: QueryParameters) throws(Problem) -> WaitPreference? {
    try WaitPreference(of: request, query, upTo: longest)
  }

  /// Watches the state of a session's user. Throws `too-many-requests` if too many requests wait.
  func watch(_ request: Request, of session: LiveSession) throws(Problem) -> StateWatcher {
    StateWatcher(session, at: request.peer.host, seat: try seat(request, of: session), self)
  }

  func seat(_ request: Request, of session: LiveSession) throws(Problem) -> WaiterSeat {
    if let seat = waiters.seat(for: session.user, WaitingRequest(request, by: session.agent?.id)) { return seat }
    throw Problem.tooManyWaits(
      "Too many requests wait already. To wait for all collections with one request, use GET /v1/changes."
    )
  }

  /// Responds at once if `respond` has a response for the current state. Otherwise the request
  /// takes a seat in `waiters` and waits.
  func wait(
    _ request: Request,
    for preference: WaitPreference,
    of session: LiveSession,
    respond: @escaping @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult
  ) throws -> HandlerResult {
    let first = { @Sendable (cached: CachedState) throws -> HandlerResult in
      let registered = registry.current
      let park = { @Sendable () throws -> HandlerResult in
        let watcher = try watch(request, of: session)
        watcher.note(cached, registered)
        let poll = LongPoll(deadline: preference.deadline(for: request), watcher) { poll, isLast in
          try watcher.load { cached, registered in
            switch try respond(cached, registered, StateCheck(isFirst: false, isLast: isLast)) {
            case .ready(let result): result
            case .unchanged: .parked(poll)
            case .later(let work): .async { try await work() ?? .parked(poll) }
            }
          }
        }
        return .parked(poll)
      }
      switch try respond(cached, registered, StateCheck(isFirst: true, isLast: preference.seconds == 0)) {
      case .ready(let result): return result
      case .unchanged: return try park()
      case .later(let work): return .async { try await work() ?? park() }
      }
    }
    if let cached = cache.state(of: session.user) { return try first(cached) }
    let host = request.peer.host
    return .async { try first(try await cache.load(session.user, from: session.network(at: host))) }
  }
}

/// Remembers the revisions that a request saw last. `hasChanged` is true if there are newer ones,
/// if the state is not in memory, or if the session has ended.
final class StateWatcher: Watcher {
  let session: LiveSession
  /// The client's address.
  let host: String
  let seat: WaiterSeat
  private let cache: StateCache
  private let registry: RegisteredLedger
  let lease: NodeLease?
  private let seenRevision = Atomic(-1)
  private let seenRegistered = Atomic(-1)

  init(_ session: LiveSession, at host: String, seat: WaiterSeat, _ polling: LongPolling) {
    self.session = session
    self.host = host
    self.seat = seat
    (cache, registry, lease) = (polling.cache, polling.registry, polling.freshness?.lease)
  }

  var isEnded: Bool { session.isEnded }
  var hasChanged: Bool {
    guard !isEnded, let cached = cache.state(of: session.user) else { return true }
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

  func load() async throws -> (CachedState, RegisteredDefaults) {
    noted(try await cache.load(session.user, from: session.network(at: host)))
  }

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

/// Knows whether the resource of a parked request has changed since the request last looked at it.
package protocol Watcher: Sendable {
  var seat: WaiterSeat { get }
  /// The time for which this node may respond from its memory. Nil: always, because there are no other nodes.
  var lease: NodeLease? { get }
  /// Whether the session of the request, or the resource, has ended.
  var isEnded: Bool { get }
  var hasChanged: Bool { get }
}

extension Watcher {
  /// Whether this node may respond from its memory. Ask this before the session: the memory then has each end of
  /// a session that was complete while the lease ran.
  package var holdsLease: Bool { lease?.isHeld ?? true }

  /// The result for a request to which this node cannot respond, because it has no lease: the request keeps
  /// waiting. Nil if the node has its lease. Throws at the end of the wait.
  func withoutLease(_ request: any ParkedRequest, isLast: Bool) throws(Problem) -> HandlerResult? {
    if holdsLease { return nil }
    if isLast { throw .withoutLease }
    return .parked(request)
  }

  /// Lets changes wake `waker` from now on. If `hasChanged` is true already, wakes `waker` at once.
  package func park(_ waker: any Waker) {
    seat.wait(waker)
    // The seat must have the waker before this check. Each change is published before it wakes the
    // seats, so no change is missed. When the node has its lease again, it wakes all waiters.
    if holdsLease, hasChanged { waker.wake() }
  }
}

/// A request that waits until a resource differs from what the client has.
package final class LongPoll: ParkedRequest {
  package let deadline: Int64
  private let watcher: any Watcher
  private let respond: @Sendable (LongPoll, _ isLast: Bool) throws -> HandlerResult

  /// `respond` returns a response, or `.parked` with its poll to continue the wait. If `isLast` is
  /// true, `respond` must return a response.
  package init(
    deadline: Int64,
    _ watcher: any Watcher,
    respond: @escaping @Sendable (LongPoll, _ isLast: Bool) throws -> HandlerResult
  ) {
    self.deadline = deadline
    self.watcher = watcher
    self.respond = respond
  }

  package func park(_ waker: any Waker) { watcher.park(waker) }

  package func unpark() {}

  package func resume(_ cause: WakeReason) -> HandlerResult {
    HandlerResult {
      let isLast = cause != .woken
      return try watcher.withoutLease(self, isLast: isLast) ?? respond(self, isLast)
    }
  }
}

extension Route {
  /// The route of a server that refuses requests while it is cut off from its database.
  package func refusing(without lease: NodeLease) -> Route {
    handled { request, handler in
      guard lease.isHeld else { throw Problem.withoutLease }
      return try handler(request.readingBody { LeasedBody($0, lease) })
    }
  }
}

/// The body of a request that is refused if the lease is over when the body has arrived. The memory was
/// asked about the request's token when the head arrived, and may be outdated then.
private final class LeasedBody: BodySource {
  private let source: any BodySource
  private let lease: NodeLease

  init(_ source: any BodySource, _ lease: NodeLease) {
    (self.source, self.lease) = (source, lease)
  }

  func collect(upTo limit: Int) async throws -> [UInt8] {
    let body = try await source.collect(upTo: limit)
    guard lease.isHeld else { throw Problem.withoutLease }
    return body
  }
}

extension Problem {
  /// The problem of a node that is cut off from its database.
  package static var withoutLease: Problem {
    .overloaded("This server cannot reach its database at present, so it cannot tell what is current. Try again.")
  }

  package static func tooManyWaits(_ detail: String) -> Problem {
    Problem(.tooManyRequests, detail: detail, fields: HeaderFields([.retryAfter: "1"]))
  }
}

extension HandlerResult {
  /// The result of `make`. If `make` throws, the result is asynchronous work that throws the error.
  package init(catching make: () throws -> HandlerResult) {
    do { self = try make() } catch { self = .async { throw error } }
  }

  /// A response that takes time. If `make` throws, `problem` may replace the error with a problem.
  package static func making(
    _ problem: @escaping @Sendable (any Error) -> Problem?,
    _ make: @escaping @Sendable () async throws -> Response
  ) -> HandlerResult {
    .async {
      do { return .response(try await make()) } catch { throw problem(error) ?? error }
    }
  }
}

/// One check of the state for a request that may wait.
struct StateCheck: Sendable {
  /// Whether the request has just arrived.
  let isFirst: Bool
  /// Whether the wait is over, so that there must be a response.
  let isLast: Bool
}

enum LongPollResult: Sendable {
  case ready(HandlerResult)
  case unchanged
  /// The response takes long to make. The work returns `nil` if nothing has changed.
  case later(@Sendable () async throws -> HandlerResult?)
}
