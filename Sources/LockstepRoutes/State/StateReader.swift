import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync

/// Responds to `GET` requests with a user's state, normally from encoded bytes in memory.
///
/// This is a class because each route and each pending response holds it. A struct would be copied
/// for each of them.
package final class StateReader: Sendable {
  let store: String
  let gate: StateAuthenticator
  let cache: StateCache
  let registry: RegisteredLedger
  let history: StateHistory
  let readers: UserReaders
  let waiting: LongPolling
  let backgroundEncoder: BackgroundEncoder

  package init(
    store: String,
    gate: StateAuthenticator,
    cache: StateCache,
    registry: RegisteredLedger,
    history: StateHistory,
    readers: UserReaders,
    waiting: LongPolling,
    backgroundEncoder: BackgroundEncoder
  ) {
    self.store = store
    self.gate = gate
    self.cache = cache
    self.registry = registry
    self.history = history
    self.readers = readers
    self.waiting = waiting
    self.backgroundEncoder = backgroundEncoder
  }

  /// Responds to a `GET` of a resource. `?at=<cursor>` asks for a past state.
  func answer(
    _ request: Request,
    resource: @escaping @Sendable (Request, QueryParameters) throws(Problem) -> StateResource
  ) throws -> HandlerResult {
    try gate.answer(request) { [self] session in
      let query = try request.query
      let resource = try resource(request, query)
      let preconditions = try Preconditions(of: request.head)
      // A malformed wait is an error even if the request would not wait.
      let preference = try waiting.preference(of: request, query)
      let wait = preconditions.ifNoneMatch == nil ? nil : preference
      if let at = try query.text("at") {
        let point = try pointInTime(at)
        return .async { [self] in try await past(resource, at: point, of: session, preconditions, wait, request) }
      }
      if let wait { return try held(request, resource, preconditions, wait, session) }
      return try withState(of: session) { [self] hot in
        let view = presentView(of: hot)
        switch try present(resource, hot, view, session.user) {
        case .made(let representation):
          let response = try response(representation, preconditions, view)
          return request.isRepetition ? .reusable(response, unchanged(view, for: session)) : .response(response)
        case .later(let make):
          return .async { [self] in .response(try response(try await make(), preconditions, view)) }
        }
      }
    }
  }

  /// The check of whether a response with the current state is still valid.
  private func unchanged(_ view: StateView, for session: LiveSession) -> UnchangedStateValidity {
    UnchangedStateValidity(
      session,
      at: view.state.revision,
      view.registeredRevision,
      cache: cache,
      registry: registry,
      millisecondsSince1970: gate.sessions.millisecondsSince1970
    )
  }

  /// Responds when the resource differs from what the client has, or when the wait times out.
  private func held(
    _ request: Request,
    _ resource: StateResource,
    _ preconditions: Preconditions,
    _ wait: WaitPreference,
    _ session: LiveSession
  ) throws -> HandlerResult {
    try waiting.wait(request, for: wait, of: session) { [self] hot, registered, look in
      let view = StateView(store: store, LedgerView(state: hot.state, registered: registered))
      let answer = { @Sendable [self] (representation: Representation?) throws -> HandlerResult? in
        guard look.isLast || !(representation.map { preconditions.isFresh($0) } ?? false) else { return nil }
        return .response(try response(representation, preconditions, view).waited(wait))
      }
      switch try present(resource, hot, view, session.user) {
      case .made(let representation): return try answer(representation).map { .answer($0) } ?? .unchanged
      case .later(let make): return .later { try answer(try await make()) }
      }
    }
  }

  /// Passes the state of a session's user to `answer`, at once if it is in memory.
  func withState(
    of session: LiveSession,
    _ answer: @escaping @Sendable (CachedState) throws -> HandlerResult
  ) throws -> HandlerResult {
    if let hot = cache.state(of: session.user) { return try answer(hot) }
    return .async { [cache] in try answer(try await cache.load(session.user)) }
  }

  func presentView(of hot: CachedState) -> StateView {
    let view = LedgerView(state: hot.state, registered: registry.current)
    return StateView(store: store, view, cursorText: hot.cursorText(of: store, registered: view.registered.revision))
  }

  /// A resource in its current state.
  enum Present {
    case made(Representation?)
    /// Encoding takes long.
    case later(@Sendable () async throws -> Representation?)
  }

  /// Encodes a resource in its current state. The representation of a whole collection is cached
  /// until the collection changes.
  func present(_ resource: StateResource, _ hot: CachedState, _ view: StateView, _ user: UserID) throws -> Present {
    let collection = resource.wholeCollection
    if let collection, let known = hot.representation(of: collection, registered: view.registeredRevision) {
      return .made(known)
    }
    let isLong = resource.weight(in: view) > BackgroundEncoder.bound
    let make = { @Sendable () throws -> Representation? in try resource.representation(of: view) }
    guard let collection else {
      return isLong
        ? .later { [backgroundEncoder] in try await backgroundEncoder.run(for: user, make) } : .made(try make())
    }
    let keep = { @Sendable (made: Representation?) in
      // Suites that were never written are not cached, because clients can ask for any number of
      // names.
      let isKnown = view.state.collections[collection] != nil || collection.part == nil
      if let made, isKnown { hot.keep(made, of: collection, registered: view.registeredRevision) }
    }
    guard isLong else {
      let made = try make()
      keep(made)
      return .made(made)
    }
    return .later { [backgroundEncoder] in
      let name = BackgroundEncoder.Name("\(view.registeredRevision) \(collection)", of: hot)
      let made = try await backgroundEncoder.representations.value(of: name) {
        try await backgroundEncoder.run(for: user, make)
      }
      keep(made)
      return made
    }
  }

  /// The response with a resource, or 304 if the client has it already.
  func response(
    _ representation: Representation?,
    _ preconditions: Preconditions,
    _ view: StateView
  ) throws(Problem) -> Response {
    guard let representation else { throw Self.nothing(in: view) }
    guard preconditions.isFresh(representation) else {
      var fields = representation.fields
      fields.append(.cursor, view.cursorText)
      return Response(status: .ok, fields: fields, body: .bytes(representation.body))
    }
    var fields = representation.validatorFields
    if let tag = preconditions.freshTag(for: representation), tag != representation.tag {
      fields = Representation.validatorFields(ofTag: tag)
    }
    fields.append(.cursor, view.cursorText)
    return Response(status: .notModified, fields: fields)
  }

  /// The problem for a resource that does not exist at this cursor.
  private static func nothing(in view: StateView) -> Problem {
    var problem = Problem(.notFound, detail: "There is nothing at this address at present.")
    problem.fields.append(.cursor, view.cursorText)
    return problem
  }

  // MARK: The past

  private func pointInTime(_ text: String) throws(Problem) -> Cursor {
    guard let cursor = Cursor(text) else {
      throw Problem(.invalidParameter, detail: "The parameter at must be a cursor, as an answer gave it.")
    }
    return cursor
  }

  private func past(
    _ resource: StateResource,
    at point: Cursor,
    of session: LiveSession,
    _ preconditions: Preconditions,
    _ wait: WaitPreference?,
    _ request: Request
  ) async throws -> HandlerResult {
    let registered = registry.current
    guard point.store == store, registered.knows(point.registered) else { throw Self.unknownPast }
    let (history, user) = (history, session.user)
    let state = try await readers.read(for: user) {
      try history.state(of: user, at: point.revision, resource.extent, from: $0)
    }
    guard let state else { throw Self.unknownPast }
    let view = StateView(store: store, state: state, registered: registered, at: point.registered)
    let response = try response(resource.representation(of: view), preconditions, view)
    guard let wait else { return .response(response) }
    guard response.status == .notModified else { return .response(response.waited(wait)) }
    return .parked(
      TimeoutWait(
        deadline: wait.deadline(for: request),
        session: session,
        seat: try waiting.seat(for: session),
        response: response.waited(wait)
      )
    )
  }

  private static var unknownPast: Problem {
    Problem(
      .notFound,
      detail: "This store doesn't have the state of that cursor: it's another store's, or older than the history that "
        + "is kept. Without at, the present state is given."
    )
  }
}

extension Response {
  /// The response to a request that was allowed to wait. Caches must not store it.
  func waited(_ wait: WaitPreference) -> Response {
    var response = self
    response.fields = fields.replacing(.cacheControl, "no-store")
    response.fields.append(.preferenceApplied, wait.appliedField)
    return response
  }
}
