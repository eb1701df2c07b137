import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepIdentity
import LockstepMiddleware
import LockstepSync

/// Authenticates requests by their token.
package struct TokenAuthenticator: Sendable {
  let directory: SessionDirectory
  /// Nil: the server accepts no tokens of other issuers.
  let identities: IdentitySessions?
  let millisecondsSince1970: @Sendable () -> Int64
  private let monotonic: @Sendable () -> Int64
  /// The rate limit of each token. `nil`: no limit.
  let rates: RateMeter?
  /// If this is set, a request has a service token, and its path names the user.
  var agents: AgentAuthenticator?

  package init(
    directory: SessionDirectory,
    identities: IdentitySessions? = nil,
    millisecondsSince1970: @escaping @Sendable () -> Int64,
    monotonic: @escaping @Sendable () -> Int64,
    rates: RateMeter? = nil
  ) {
    (self.directory, self.identities) = (directory, identities)
    (self.millisecondsSince1970, self.monotonic) = (millisecondsSince1970, monotonic)
    self.rates = rates
  }

  /// The session of the request's token, as far as memory tells.
  func lookUp(_ request: Request) -> SessionDirectory.Lookup { lookUp(request.head) }

  private func lookUp(_ head: RequestHead) -> SessionDirectory.Lookup {
    let now = millisecondsSince1970()
    let found = head.withBytes(of: .authorization) { field -> SessionDirectory.Lookup in
      guard let token = Self.bearerToken(in: field) else { return .refused }
      let found = directory.authenticate(token, at: now)
      guard case .refused = found, let identities else { return found }
      let bytes = UnsafeRawBufferPointer(rebasing: token)
      guard TokenVerifier.isCandidate(bytes) else { return found }
      return identities.session(bytes, at: now).map { .session($0) } ?? .ofIssuer
    }
    return found ?? .refused
  }

  /// The user of the request's token, if the session is in memory.
  package func user(of head: RequestHead) -> UserID? {
    guard case .session(let session) = lookUp(head) else { return nil }
    return session.user
  }

  /// Passes the session of the request's token to `respond`, at once if the session is in memory.
  /// If the token is not valid, `orElse` may return a response.
  func respond(
    to request: Request,
    orElse: (@Sendable () async throws -> Response?)? = nil,
    _ respond: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    if let agents { return try agents.respond(to: request, respond) }
    let lookup = lookUp(request)
    if case .session(let session) = lookup { return try admit(session, request, respond) }
    return try later(lookup, request, orElse: orElse, respond)
  }

  /// Responds to a request whose session is not in memory.
  func later(
    _ lookup: SessionDirectory.Lookup,
    _ request: Request,
    orElse: (@Sendable () async throws -> Response?)? = nil,
    _ respond: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    switch lookup {
    case .session(let session): return try admit(session, request, respond)
    case .refused:
      let problem = Problem.unauthorized(request.head.has(.authorization))
      guard let orElse else { throw problem }
      return .async {
        guard let known = try await orElse() else { throw problem }
        return .response(known)
      }
    case .unknown(let token):
      let now = millisecondsSince1970()
      return .async {
        if let session = try await load(token, from: request.network, at: now) {
          return try admit(session, request, respond)
        }
        guard let known = try await orElse?() else { throw Problem.unauthorized(true) }
        return .response(known)
      }
    case .ofIssuer:
      return .async {
        let session: LiveSession
        do throws(Problem) {
          session = try await loadOfIssuer(request)
        } catch {
          guard error.kind == .unauthorized, let known = try await orElse?() else { throw error }
          return .response(known)
        }
        return try admit(session, request, respond)
      }
    }
  }

  /// Verifies the request's token of another issuer, and returns its session.
  private func loadOfIssuer(_ request: Request) async throws(Problem) -> LiveSession {
    guard let identities else { throw .unauthorized(true) }
    do throws(AccountsError) {
      let network = request.network
      return try await identities.load(request.token, from: network, at: millisecondsSince1970())
    } catch {
      switch error {
      case .disabled, .registrationClosed:
        // Like the token of a user whose session has ended.
        var problem = Problem.unauthorized(true)
        problem.detail = error.description
        throw problem
      default: throw Problem(error)
      }
    }
  }

  /// Applies the rate limit of the session's token.
  func admit(
    _ session: LiveSession,
    _ request: Request,
    _ respond: (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    guard let rates else { return try ending(respond(session), session, request) }
    return try rates.respond(to: session.rate, at: request.arrival) { try ending(respond(session), session, request) }
  }

  /// Ends an event stream when the request's token expires, if it is of another issuer.
  private func ending(_ result: HandlerResult, _ session: LiveSession, _ request: Request) -> HandlerResult {
    guard session.tokenExpiry != .max, request.head.wantsEventStream else { return result }
    let rest = max(0, session.tokenExpiry - millisecondsSince1970())
    return result.transformed(by: ExpiringStreams(end: monotonic() + rest * 1_000_000, monotonic: monotonic))
  }

  private func load(
    _ token: SessionDirectory.UnknownToken,
    from network: ClientNetwork,
    at now: Int64
  ) async throws(Problem) -> LiveSession? {
    do throws(AccountsError) {
      return try await directory.load(token, from: network, at: now)
    } catch {
      throw Problem(error)
    }
  }

  /// The token in the value of an `Authorization` field, or `nil` if the scheme is not `Bearer`.
  static func bearerToken(in field: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    guard let token = field.behind(prefix: "bearer ") else { return nil }
    return token.drop { $0 == UInt8(ascii: " ") }
  }
}

/// Authenticates requests for a user's state. If the state is in memory, adds its cursor to
/// problems.
struct StateAuthenticator: Sendable {
  let store: String
  let sessions: TokenAuthenticator
  let cache: StateCache
  let registry: RegisteredLedger
  /// Nil: there are no other nodes, so the memory has the newest state.
  let freshness: Freshness?

  func respond(
    to request: Request,
    _ respond: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    try sessions.respond(to: request) { try responded(to: request, of: $0, respond) }
  }

  /// Like `respond(to:_:)`, for requests without a body. If the session is in memory, as usual, this
  /// calls `now` instead of `later`, and makes no closure. Otherwise it loads the session together
  /// with the user's state.
  func respond(
    to request: Request,
    now: (LiveSession) throws -> HandlerResult,
    later: () -> @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    if sessions.agents != nil { return try respond(to: request, later()) }
    let lookup = sessions.lookUp(request)
    if freshness == nil, case .session(let session) = lookup {
      return try sessions.admit(session, request) { try responded(of: $0, now) }
    }
    let respond = later()
    guard case .unknown(let token) = lookup else {
      return try sessions.later(lookup, request) { try responded(to: request, of: $0, respond) }
    }
    let load = UserLoad { loaded in
      HandlerResult {
        // Without a session, the token is not valid, or the load failed and is repeated here.
        let found: SessionDirectory.Lookup = loaded.map { .session($0) } ?? sessions.lookUp(request)
        return try sessions.later(found, request) { try responded(to: request, of: $0, respond) }
      }
    }
    load.begin(token, from: request.network, at: sessions.millisecondsSince1970(), sessions.directory, cache)
    return .parked(load)
  }

  /// Responds from a state that is new enough for the request.
  private func responded(
    to request: Request,
    of session: LiveSession,
    _ respond: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    guard let freshness else { return try responded(of: session, respond) }
    let need = freshness.need(of: request, session.user)
    if need == .none { return try responded(of: session, respond) }
    return .async {
      try await freshness.refresh(session.user)
      let result = try responded(of: session, respond)
      // A later request on the connection must read the store again.
      return need == .strict ? result.transformed(by: SingleUse()) : result
    }
  }

  private func responded(of session: LiveSession, _ respond: (LiveSession) throws -> HandlerResult) throws
    -> HandlerResult
  {
    do {
      return addingCursor(to: try respond(session), of: session.user)
    } catch {
      throw addingCursor(to: error, of: session.user)
    }
  }

  /// Adds the cursor of the user's state to a problem, if the state is in memory. Adds none to a
  /// problem that has a cursor already, or whose kind is `unauthorized`.
  func addingCursor(to error: any Error, of user: UserID) -> any Error {
    guard var problem = error as? Problem ?? Problem.describing(error) else { return error }
    guard problem.kind != .unauthorized, problem.fields[.cursor] == nil, let cached = cache.state(of: user) else {
      return problem
    }
    let view = LedgerView(state: cached.state, registered: registry.current)
    problem.fields.append(StateView(store: store, view).position)
    return problem
  }

  /// Adds the cursor to the problems of asynchronous work. A parked request adds it to its own.
  private func addingCursor(to result: HandlerResult, of user: UserID) -> HandlerResult {
    guard case .async(let work) = result else { return result }
    return .async {
      do { return addingCursor(to: try await work(), of: user) } catch { throw addingCursor(to: error, of: user) }
    }
  }
}

/// Keeps a response from being sent again, even if the state must be loaded first.
private struct SingleUse: ResponseTransform {
  func result(_ response: Response) -> HandlerResult { .response(response) }
  func result(_ response: Response, reusableBy _: any ResponseValidity) -> HandlerResult { .response(response) }
  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(response, source)
  }
  func result(of error: any Error) throws -> HandlerResult { throw error }
}
