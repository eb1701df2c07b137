import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// Authorizes requests with the administrator token or a service token, and those on the operator's socket. If the
/// operator has set no administrator token, the routes of the administration respond with 404 to all other requests.
package struct AdministratorGate: Sendable {
  private let administrator: AdministratorToken
  package let tokens: ServiceTokens
  private let limiter: AttemptLimiter
  private let sessions: TokenAuthenticator
  /// Logs a change of an account, a session, a service token or registered defaults, with the name of
  /// the token that made it.
  package let log: @Sendable (_ change: String, _ subject: String, _ agent: String) -> Void

  package init(
    _ administrator: AdministratorToken,
    tokens: ServiceTokens,
    limiter: AttemptLimiter,
    sessions: TokenAuthenticator,
    log: @escaping @Sendable (_ change: String, _ subject: String, _ agent: String) -> Void
  ) {
    self.log = log
    self.administrator = administrator
    self.tokens = tokens
    self.limiter = limiter
    self.sessions = sessions
  }

  /// Passes the request's token to `respond` if it has the scope.
  ///
  /// Throws `not-found` if no administrator token is set, `unauthorized` without a valid token,
  /// `too-many-requests` after too many wrong tokens, and `forbidden` for a user's token or without
  /// the scope.
  package func admit(
    _ request: Request,
    _ scope: ServiceScope,
    _ respond: @escaping @Sendable (LiveServiceToken) throws -> HandlerResult
  ) throws -> HandlerResult {
    if request.isFromOperator { return try respond(tokens.administrator) }
    guard administrator.isSet else { throw Problem(.notFound) }
    let found = request.head.withBytes(of: .authorization) { field -> LiveServiceToken? in
      guard let token = TokenAuthenticator.bearerToken(in: field) else { return nil }
      return administrator.matches(token) ? tokens.administrator : tokens.token(token)
    }
    if let token = found ?? nil {
      guard token.allows(scope) else { throw Self.missing(scope) }
      return try respond(token)
    }
    guard request.head.has(.authorization) else { throw Self.unauthorized(hasToken: false) }
    // A user's token is no guess. So it is not counted.
    switch sessions.lookUp(request) {
    case .session: throw Self.ofUser
    case .unknown(let token):
      let now = sessions.millisecondsSince1970()
      return .making(Problem.init(accounts:)) { () async throws -> Response in
        guard try await sessions.directory.load(token, from: request.network, at: now) == nil else { throw Self.ofUser }
        throw problem(forWrongTokenOf: request)
      }
    case .ofIssuer:
      return .making(Problem.init(accounts:)) { () async throws -> Response in
        let identity = try? await sessions.identities?.identity(of: String(decoding: request.token, as: UTF8.self))
        throw identity == nil ? problem(forWrongTokenOf: request) : Self.ofUser
      }
    case .refused: throw problem(forWrongTokenOf: request)
    }
  }

  /// Counts a wrong token. Returns the problem for the response.
  private func problem(forWrongTokenOf request: Request) -> Problem {
    do throws(AccountsError) {
      try limiter.failedAdministration(from: request.network)
      return Self.unauthorized(hasToken: true)
    } catch {
      return Problem(error)
    }
  }

  private static func unauthorized(hasToken: Bool) -> Problem {
    var problem = Problem.unauthorized(hasToken)
    problem.detail =
      "Send the administrator token that the operator has set, or a service token, as Authorization: Bearer <token>."
    return problem
  }

  private static let ofUser = Problem(
    .forbidden,
    detail: "This is a user's token. The administration needs the administrator token or a service token."
  )

  private static func missing(_ scope: ServiceScope) -> Problem {
    Problem(
      .forbidden,
      detail: "This request needs the scope \(scope.rawValue), which the service token does not have. Use a token "
        + "with this scope."
    )
  }
}

extension TokenAuthenticator {
  /// Authenticates requests with service tokens, which act for the user that the path names. Requests
  /// that change something need the scope `changing`.
  package func acting(
    _ gate: AdministratorGate,
    changing: ServiceScope = .write,
    cache: StateCache,
    readers: UserReaders
  ) -> TokenAuthenticator {
    var acting = self
    acting.agents = AgentAuthenticator(gate: gate, changing: changing) { user in
      try await readers.read(for: user, from: nil) { try UserRecords(connection: $0).has(user) }
    } isKnown: {
      cache.state(of: $0) != nil
    }
    return acting
  }
}

/// Lets a service token act for the user that the request's path names, in a session of its own.
// A class, because an authenticator of sessions contains it.
package final class AgentAuthenticator: Sendable {
  /// The parameter of the path that names the user.
  package static let user = "user"

  let gate: AdministratorGate
  /// The scope that a request needs unless it is a read or a dry run.
  let changing: ServiceScope
  let exists: @Sendable (UserID) async throws -> Bool
  /// Whether the user's state is in memory, so that the user exists.
  let isKnown: @Sendable (UserID) -> Bool

  init(
    gate: AdministratorGate,
    changing: ServiceScope,
    exists: @escaping @Sendable (UserID) async throws -> Bool,
    isKnown: @escaping @Sendable (UserID) -> Bool
  ) {
    self.gate = gate
    self.changing = changing
    self.exists = exists
    self.isKnown = isKnown
  }

  func respond(
    to request: Request,
    _ respond: @escaping @Sendable (LiveSession) throws -> HandlerResult
  ) throws -> HandlerResult {
    try gate.admit(request, try scope(of: request)) { [self] agent in
      guard let user = UserID(request.parameters[Self.user] ?? "") else { throw Problem(AccountsError.noSuchUser) }
      let session = LiveSession(of: user, for: agent)
      let result = { @Sendable [gate, changing] () throws -> HandlerResult in
        var transform = AgentResponse(session: session)
        if changing == .users, request.head.method == .delete {
          transform.done = { gate.log("end session", request.parameters["id"] ?? "", agent.name) }
        }
        do { return try respond(session).transformed(by: transform) } catch { return try transform.result(of: error) }
      }
      if isKnown(user) { return try result() }
      return .async { [exists] in
        guard try await exists(user) else { throw Problem(AccountsError.noSuchUser) }
        return try result()
      }
    }
  }

  private func scope(of request: Request) throws(Problem) -> ServiceScope {
    switch request.head.method {
    case .get, .head: return .read
    case .post: return try request.query.text("dryRun") == "true" ? .read : changing
    default: return changing
    }
  }
}

/// A response for a user, changed for the service token that acts for the user.
private struct AgentResponse: ResponseTransform {
  let session: LiveSession
  /// Called when the request has ended a session.
  var done: (@Sendable () -> Void)?

  private func changed(_ response: Response) -> Response {
    if response.status == .noContent { done?() }
    guard let link = response.fields[.link] else { return response }
    var response = response
    let below = link.replacing("</v1/", with: "</v1/admin/users/\(session.user)/", maxReplacements: 1)
    response.fields = response.fields.replacing(.link, below)
    return response
  }

  func result(_ response: Response) -> HandlerResult { .response(changed(response)) }

  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult {
    .response(changed(response))
  }

  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(changed(response), source)
  }

  /// The end of the session means that the user was erased, or that the service token has ended.
  func result(of error: any Error) throws -> HandlerResult {
    guard let problem = error as? Problem ?? Problem.describing(error), problem.kind == .unauthorized else {
      throw error
    }
    throw session.agent?.isEnded ?? false ? Problem.serviceTokenEnded : Problem(AccountsError.noSuchUser)
  }
}

extension LiveServiceToken {
  /// The owner of the idempotency keys of requests that are about no user.
  package var keyOwner: IdempotencyKeyOwner {
    id == ServiceTokens.administratorName
      ? .administrator : .outsider(DomainHash.of("service token", Array(id.utf8)))
  }
}

extension IdempotencyKey {
  /// The key as it is stored for a user. Keys of a service token differ from those of the user's
  /// devices, because no header field can contain a line break.
  package func owned(by session: LiveSession) -> IdempotencyKey {
    session.agent.map { IdempotencyKey("\($0.id)\n\(key)", fingerprint: fingerprint) } ?? self
  }
}
