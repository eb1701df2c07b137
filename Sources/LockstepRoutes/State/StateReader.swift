import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepSync

/// The short half of the way: a user's state, already encoded, to whoever asks for it.
///
/// An object, since each route and each answer to come holds it: a value would be copied for each, part by part.
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

  /// Answers a `GET` of a resource. The address may say as of when: `?at=<cursor>`.
  func answer(
    _ request: Request,
    resource: @escaping @Sendable (Request, QueryParameters) throws(Problem) -> StateResource
  ) throws -> HandlerResult {
    try gate.answer(request) { [self] session in
      let query = try request.query
      let resource = try resource(request, query)
      let preconditions = try Preconditions(of: request.head)
      // A wait that can't be is told whether or not there is anything to wait for.
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

  /// What an answer from a present state rests on.
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

  /// Answers when the resource differs from what the client has, or when the time is over.
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

  /// Answers with the state of a session's user: at once where it's in memory.
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

  /// A resource as it is.
  enum Present {
    case made(Representation?)
    /// It takes long to make.
    case later(@Sendable () async throws -> Representation?)
  }

  /// A resource as it is. What shows all of a collection is made once for each change of it.
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
      // What was never written isn't kept: anybody can think of any number of names of suites.
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

  /// The answer with a resource, or that the client has it already.
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

  /// There is nothing there, as of that cursor.
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
  /// The answer to a request that would have waited: of this moment alone, for nobody to keep.
  func waited(_ wait: WaitPreference) -> Response {
    var response = self
    response.fields = fields.replacing(.cacheControl, "no-store")
    response.fields.append(.preferenceApplied, wait.appliedField)
    return response
  }
}
