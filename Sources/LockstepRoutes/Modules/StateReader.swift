import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync
import LockstepThreading

/// Responds to `GET` requests with a user's state, normally from encoded bytes in memory. It also
/// holds the services that the other routes for users' states need.
///
/// This is a class because each route and each pending response holds it. A struct would be copied
/// for each of them.
package final class StateReader: Sendable {
  package let store: String
  let gate: StateAuthenticator
  package let cache: StateCache
  package let registry: RegisteredLedger
  let modules: Modules
  let history: StateHistory
  package let readers: UserReaders
  package let waiting: LongPolling
  let backgroundEncoder: BackgroundEncoder

  package init(
    store: String,
    sessions: TokenAuthenticator,
    cache: StateCache,
    registry: RegisteredLedger,
    modules: Modules,
    history: StateHistory,
    readers: UserReaders,
    waiters: WaiterRegistry<UserID>,
    longestWait: Int,
    backgroundEncoder: BackgroundEncoder,
    freshness: Freshness?
  ) {
    self.store = store
    gate = StateAuthenticator(
      store: store,
      sessions: sessions,
      cache: cache,
      registry: registry,
      freshness: freshness
    )
    self.cache = cache
    self.registry = registry
    self.modules = modules
    self.history = history
    self.readers = readers
    waiting = LongPolling(
      waiters: waiters,
      cache: cache,
      registry: registry,
      directory: sessions.directory,
      longest: longestWait,
      freshness: freshness
    )
    self.backgroundEncoder = backgroundEncoder
  }

  /// Responds to a `GET` of a resource. `?at=<cursor>` asks for a past state.
  func respond(
    to request: Request,
    resource: @escaping @Sendable (Request, QueryParameters) throws(Problem) -> StateResource
  ) throws -> HandlerResult {
    try gate.respond(to: request) {
      try respond(to: request, of: $0, resource)
    } later: {
      { [self] in try respond(to: request, of: $0, resource) }
    }
  }

  private func respond(
    to request: Request,
    of session: LiveSession,
    _ resource: (Request, QueryParameters) throws(Problem) -> StateResource
  ) throws -> HandlerResult {
    let query = try request.query
    let resource = try resource(request, query)
    guard request.head.has(.cursor) else { return try respond(to: request, of: session, resource, query) }
    return try whenNewEnough(for: request, of: session) { [self] in
      try respond(to: request, of: session, resource, query)
    }
  }

  /// Responds from a state that is at least as new as the cursor in the field `Cursor`. A cursor of
  /// another store or of a lost history is ignored.
  func whenNewEnough(
    for request: Request,
    of session: LiveSession,
    _ respond: @escaping @Sendable () throws -> HandlerResult
  ) throws -> HandlerResult {
    guard let text = request.head[.cursor] else { return try respond() }
    guard let cursor = Cursor(text) else {
      throw Problem(.invalidParameter, detail: "The field Cursor must be a cursor from a response.")
    }
    // On a node of a fleet, the gate has read what was missing. A cursor that is still newer is of a lost
    // history.
    guard cursor.store == store, gate.freshness == nil else { return try respond() }
    if let cached = cache.state(of: session.user), !cursor.revision.isAhead(of: cached.state.revision) {
      return try respond()
    }
    let network = request.network(of: session)
    return .async { [cache] in
      for _ in 1...Self.cursorChecks {
        let cached = try await cache.load(session.user, from: network)
        if !cursor.revision.isAhead(of: cached.state.revision) { return try respond() }
        try await Task.sleep(for: Self.cursorInterval)
      }
      throw Problem(
        .overloaded,
        detail: "The state of the cursor in the field Cursor has not arrived yet. Try again later.",
        fields: HeaderFields([.retryAfter: "1"])
      )
    }
  }

  /// The checks take a second of real time. With one store, only a made-up cursor is still to come,
  /// because each state is published before its cursor is sent.
  private static let cursorChecks = 20
  private static let cursorInterval = Duration.milliseconds(50)

  private func respond(
    to request: Request,
    of session: LiveSession,
    _ resource: StateResource,
    _ query: QueryParameters
  ) throws -> HandlerResult {
    let preconditions = try Preconditions(of: request.head)
    let host = request.peer.host
    // A malformed `wait` is an error even if the request would not wait.
    let preference = try waiting.preference(of: request, query)
    let wait = preconditions.ifNoneMatch == nil ? nil : preference
    if let at = try query.text("at") {
      guard let point = Cursor(at) else {
        throw Problem(.invalidParameter, detail: "The parameter “at” must be a cursor from a response.")
      }
      return .async { [self] in try await past(resource, at: point, of: session, preconditions, wait, request) }
    }
    let isRepetition = request.isRepetition
    if preconditions.ifMatch != nil {
      return .async { [self] in
        let network = session.network(at: host)
        let cached = try await cache.load(session.user, from: network)
        let problem = try await refusal(by: preconditions, of: resource, in: cached, of: session.user, from: network)
        return try respond { () throws in
          if let problem { throw problem }
          if let wait { return try held(request, resource, preconditions, wait, session) }
          return try current(resource, cached, preconditions, session, host, isRepetition)
        }
      }
    }
    if let wait { return try held(request, resource, preconditions, wait, session) }
    if let cached = cache.state(of: session.user) {
      return try current(resource, cached, preconditions, session, host, isRepetition)
    }
    return .async { [self] in
      let cached = try await cache.load(session.user, from: session.network(at: host))
      return try current(resource, cached, preconditions, session, host, isRepetition)
    }
  }

  /// Swift 6.3.1 crashes in a release build if it inlines `make` into the asynchronous closure that calls this.
  @inline(never)
  private func respond(_ make: () throws -> HandlerResult) throws -> HandlerResult { try make() }

  /// The problem `precondition-failed` if the resource exists and does not meet `If-Match`. Without the
  /// resource, the request fails anyway, so its preconditions do not count (RFC 9110, 13.2.1).
  private func refusal(
    by preconditions: Preconditions,
    of resource: StateResource,
    in cached: CachedState,
    of user: UserID,
    from network: Int?
  ) async throws -> Problem? {
    let condition = WriteCondition(action: nil, resource: resource, preconditions: preconditions.withoutIfNoneMatch)
    let points =
      switch points(of: [condition], of: user, from: network) {
      case .known(let points): points
      case .stored(let read): try await read()
      }
    let view = StateView(store: store, LedgerView(state: cached.state, registered: registry.current))
    let found = points.first ?? []
    let check = { @Sendable () throws -> Problem? in
      guard let problem = condition.refusal(in: view, found) else { return nil }
      return try resource.representation(of: view) == nil ? nil : problem
    }
    guard resource.weightOfComparison(in: view) > BackgroundEncoder.bound else { return try check() }
    return try await backgroundEncoder.run(for: user, from: network, check)
  }

  /// Responds with a resource in its current state.
  private func current(
    _ resource: StateResource,
    _ cached: CachedState,
    _ preconditions: Preconditions,
    _ session: LiveSession,
    _ host: String,
    _ isRepetition: Bool
  ) throws -> HandlerResult {
    let registered = registry.revision
    if let collection = resource.wholeCollection,
      let known = cached.representation(of: collection, registered: registered)
    {
      return try finished(known, cached, registered, preconditions, session, isRepetition)
    }
    let view = StateView(store: store, LedgerView(state: cached.state, registered: registry.current))
    if let unchanged = unchanged(resource, preconditions, view) {
      return reusable(unchanged, cached, view.registeredRevision, session, isRepetition)
    }
    switch try present(resource, cached, view, session, host) {
    case .made(let representation):
      return try finished(representation, cached, view.registeredRevision, preconditions, session, isRepetition)
    case .later(let make):
      return .async { [self] in .response(try response(try await make(), preconditions, view.position)) }
    }
  }

  private func finished(
    _ representation: Representation?,
    _ cached: CachedState,
    _ registered: Revision,
    _ preconditions: Preconditions,
    _ session: LiveSession,
    _ isRepetition: Bool
  ) throws -> HandlerResult {
    let position = cached.position(in: store, registered: registered)
    let response = try response(representation, preconditions, position)
    return reusable(response, cached, registered, session, isRepetition)
  }

  private func reusable(
    _ response: Response,
    _ cached: CachedState,
    _ registered: Revision,
    _ session: LiveSession,
    _ isRepetition: Bool
  ) -> HandlerResult {
    guard isRepetition, let watch = cache.watch(session, at: cached.state.revision) else { return .response(response) }
    let validity = UnchangedStateValidity(watch, registered, modules.version, until: session.freshUntil, self)
    return .reusable(response, validity)
  }

  /// Responds when the resource differs from what the client has, or when the wait times out.
  private func held(
    _ request: Request,
    _ resource: StateResource,
    _ preconditions: Preconditions,
    _ wait: WaitPreference,
    _ session: LiveSession
  ) throws -> HandlerResult {
    let comparison = resource.isPart ? LastComparison() : nil
    let host = request.peer.host
    return try waiting.wait(request, for: wait, of: session) { [self] cached, registered, look in
      guard let module = modules[resource.module], resource.isServed(by: module) else {
        throw Problem(.notFound, detail: "\(resource.module) was deleted, or has got another kind. Read it again.")
          .waited(wait)
      }
      let view = StateView(store: store, LedgerView(state: cached.state, registered: registered))
      if let unchanged = comparison?.unchanged(resource, view) ?? unchanged(resource, preconditions, view) {
        return look.isLast ? .ready(.response(unchanged.waited(wait))) : .unchanged
      }
      let respond = { @Sendable [self] (representation: Representation?) throws -> HandlerResult? in
        if !look.isLast, let representation, preconditions.isFresh(representation) {
          comparison?.note(representation, preconditions, resource, view)
          return nil
        }
        do throws(Problem) {
          return .response(try response(representation, preconditions, view.position).waited(wait))
        } catch {
          // The element was removed meanwhile.
          throw error.waited(wait)
        }
      }
      switch try present(resource, cached, view, session, host) {
      case .made(let representation): return try respond(representation).map { .ready($0) } ?? .unchanged
      case .later(let make): return .later { try respond(try await make()) }
      }
    }
  }

  /// Passes the state of a session's user to `respond`, at once if it is in memory.
  func withState(
    of session: LiveSession,
    at host: String,
    _ respond: @escaping @Sendable (CachedState) throws -> HandlerResult
  ) throws -> HandlerResult {
    if let cached = cache.state(of: session.user) { return try respond(cached) }
    return .async { [cache] in try respond(try await cache.load(session.user, from: session.network(at: host))) }
  }

  private enum Present {
    case made(Representation?)
    /// Encoding takes long.
    case later(@Sendable () async throws -> Representation?)
  }

  /// Encodes a resource in its current state. Caches the representation of a whole collection until
  /// the collection or the registered defaults change.
  private func present(
    _ resource: StateResource,
    _ cached: CachedState,
    _ view: StateView,
    _ session: LiveSession,
    _ host: String
  ) throws -> Present {
    let collection = resource.wholeCollection
    if let collection, let known = cached.representation(of: collection, registered: view.registeredRevision) {
      return .made(known)
    }
    let make = { @Sendable () throws -> Representation? in
      let made = try resource.representation(of: view)
      if let made, let collection { cached.keep(made, of: collection, registered: view.registeredRevision) }
      return made
    }
    guard resource.weight(in: view) > BackgroundEncoder.bound else { return .made(try make()) }
    let (user, network) = (session.user, session.network(at: host))
    let encode = { @Sendable [backgroundEncoder] in try await backgroundEncoder.run(for: user, from: network, make) }
    guard let what = collection?.description ?? resource.queryPath else { return .later(encode) }
    let name = BackgroundEncoder.Name("\(view.registeredRevision) \(what)", of: cached)
    return .later { [backgroundEncoder] in try await backgroundEncoder.representations.value(of: name, encode) }
  }

  /// Encodes a resource, outside the event loop if that takes long.
  private func representation(
    of resource: StateResource,
    _ view: StateView,
    _ user: UserID,
    _ network: Int?
  ) async throws -> Representation? {
    guard resource.weight(in: view) > BackgroundEncoder.bound else { return try resource.representation(of: view) }
    return try await backgroundEncoder.run(for: user, from: network) { try resource.representation(of: view) }
  }

  /// The 304 response if the client has the resource already, and that is known without encoding it.
  private func unchanged(_ resource: StateResource, _ preconditions: Preconditions, _ view: StateView) -> Response? {
    guard preconditions.ifNoneMatch != nil, case .cursor(let cursor) = resource.knownCursor(in: view),
      preconditions.isFresh(cursor)
    else { return nil }
    let tag = cursor.text
    return Response(notModified: preconditions.freshTag(cursor, tag) ?? tag, view.position)
  }

  /// The response with a resource, or 304 if the client has it already.
  private func response(
    _ representation: Representation?,
    _ preconditions: Preconditions,
    _ position: StatePosition
  ) throws(Problem) -> Response {
    guard let representation else {
      let detail = "This resource does not exist."
      var problem = Problem(.notFound, detail: detail)
      problem.fields.append(position)
      throw problem
    }
    guard preconditions.isFresh(representation) else {
      var fields = representation.fields
      fields.append(position)
      return Response(status: .ok, fields: fields, body: representation.body)
    }
    var fields = representation.validatorFields
    if let tag = preconditions.freshTag(for: representation), tag != representation.tag {
      fields = Representation.validatorFields(ofTag: tag)
    }
    fields.append(position)
    return Response(status: .notModified, fields: fields)
  }

  // MARK: The past

  private func past(
    _ resource: StateResource,
    at point: Cursor,
    of session: LiveSession,
    _ preconditions: Preconditions,
    _ wait: WaitPreference?,
    _ request: Request
  ) async throws -> HandlerResult {
    let (registered, network) = (registry.current, request.network(of: session))
    guard point.store == store, registered.knows(point.registered),
      let state = try await pastState(of: session.user, from: network, at: point.revision, resource.extent)
    else {
      throw Problem(
        .notFound,
        detail: "The cursor is from another store, from history that a restore discarded, or older than the history "
          + "that is kept. To get the present state, leave out the parameter “at”."
      )
    }
    let view = StateView(store: store, state: state, registered: registered, at: point.registered)
    if preconditions.ifMatch != nil, try await representation(of: resource, view, session.user, network) != nil {
      let condition = WriteCondition(action: nil, resource: resource, preconditions: preconditions.withoutIfNoneMatch)
      let points = try await points(of: condition, upTo: view, of: session.user, from: network)
      if let problem = condition.refusal(in: view, points) { throw problem }
    }
    let response =
      if let unchanged = unchanged(resource, preconditions, view) {
        unchanged
      } else {
        try response(try await representation(of: resource, view, session.user, network), preconditions, view.position)
      }
    guard let wait else { return .response(response) }
    guard response.status == .notModified else { return .response(response.waited(wait)) }
    // A past state cannot change, so only the end of the session resumes the request.
    let watcher = SessionWatcher(
      session: session,
      seat: try waiting.seat(request, of: session),
      lease: waiting.freshness?.lease
    )
    return .parked(
      LongPoll(deadline: wait.deadline(for: request), watcher) { poll, isLast in
        if session.isEnded { throw Problem.unauthorized(true) }
        return isLast ? .response(response.waited(wait)) : .parked(poll)
      }
    )
  }

  /// A past state, or `nil` if the history lacks it. The present state and those shortly before it
  /// are in memory. Any other has only the collections in `extent`.
  private func pastState(
    of user: UserID,
    from network: Int?,
    at revision: Revision,
    _ extent: StateHistory.Extent
  ) async throws -> UserState? {
    let cached = cache.state(of: user)
    if let state = cached?.past(at: revision) { return state }
    return try await state(of: user, from: network, at: revision, extent, in: cached)
  }

  /// The collections in `extent` of a past state, or `nil` if the history lacks that state. `cached` is
  /// the user's present state, if it is in memory.
  func state(
    of user: UserID,
    from network: Int?,
    at revision: Revision,
    _ extent: StateHistory.Extent,
    in cached: CachedState? = nil
  ) async throws -> UserState? {
    let start = cached?.milestone(upTo: revision)
    return try await readers.readHistory(of: user, from: network, written: cached?.state.written) { [history] in
      try history.state(of: user, at: revision, extent, after: start, from: $0)
    }
  }
}

/// The validity of a response with a user's current state. The response is valid until the user's
/// state, the registered defaults or the declared collections change, or until the session ends.
private final class UnchangedStateValidity: ResponseValidity {
  private let watch: RevisionWatch
  private let registered: Revision
  /// `Modules.version`.
  private let modules: Int
  /// See `LiveSession.freshUntil`: about once a minute, the session's use must be recorded.
  private let end: Int64
  private let reader: StateReader

  init(
    _ watch: consuming RevisionWatch,
    _ registered: Revision,
    _ modules: Int,
    until end: Int64,
    _ reader: StateReader
  ) {
    self.watch = watch
    (self.registered, self.modules) = (registered, modules)
    self.end = end
    self.reader = reader
  }

  func holds(at arrival: Int64) -> Bool {
    // The lease comes first. The memory is read later, so it has all that was complete while the lease ran.
    (reader.gate.freshness?.lease.isHeld ?? true) && reader.gate.sessions.millisecondsSince1970() < end
      && reader.registry.revision == registered && reader.modules.version == modules
      && watch.holds(in: reader.cache)
  }
}

/// The last comparison of a part of a collection with what a waiting client has. As long as the
/// collection does not change, the part need not be encoded and compared again.
private final class LastComparison: Sendable {
  private let last = LockedState<(source: Revision, tag: String)?>(nil)

  /// Notes that the client has this representation.
  func note(
    _ representation: Representation,
    _ preconditions: Preconditions,
    _ resource: StateResource,
    _ view: StateView
  ) {
    guard let source = resource.sourceRevision(in: view) else { return }
    let tag = preconditions.freshTag(for: representation) ?? representation.tag
    last.withLock { $0 = (source, tag) }
  }

  /// The 304 response if the collection has not changed since the last comparison.
  func unchanged(_ resource: StateResource, _ view: StateView) -> Response? {
    guard let last = last.withLock({ $0 }), resource.sourceRevision(in: view) == last.source else { return nil }
    return Response(notModified: last.tag, view.position)
  }
}

/// Reports the end of a session as a change.
private struct SessionWatcher: Watcher {
  let session: LiveSession
  let seat: WaiterSeat
  let lease: NodeLease?
  var isEnded: Bool { session.isEnded }
  var hasChanged: Bool { isEnded }
}

extension Response {
  /// The response to a client that has the resource with this tag already.
  fileprivate init(notModified tag: String, _ position: StatePosition) {
    var fields = Representation.validatorFields(ofTag: tag)
    fields.append(position)
    self.init(status: .notModified, fields: fields)
  }

  /// The response to a request that was allowed to wait. Caches must not store it.
  package func waited(_ wait: WaitPreference) -> Response {
    var response = self
    response.fields = fields.replacing(.cacheControl, "no-store")
    response.fields.append(.preferenceApplied, wait.appliedField)
    return response
  }
}

extension Problem {
  /// The same problem for a request that was allowed to wait.
  fileprivate func waited(_ wait: WaitPreference) -> Problem {
    var problem = self
    problem.fields.append(.preferenceApplied, wait.appliedField)
    return problem
  }
}
