import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync
import LockstepThreading

/// `/v1/users`, `/v1/sessions` and `/v1/me`: sign-up and login, the account of the user who is
/// logged in, and their sessions.
package struct AccountsRoutes: Sendable {
  let accounts: StoredAccounts
  let ledger: AccountsLedger
  let mail: AccountMail
  let export: UserExport
  private let store: String
  private let cache: StateCache
  let authenticator: TokenAuthenticator
  private let readers: UserReaders

  package init(
    _ reading: StateReader,
    _ accounts: StoredAccounts,
    _ ledger: AccountsLedger,
    _ mail: AccountMail,
    _ export: UserExport
  ) {
    self.accounts = accounts
    self.ledger = ledger
    self.mail = mail
    self.export = export
    store = reading.store
    cache = reading.cache
    authenticator = reading.gate.sessions
    readers = reading.readers
  }

  package var routes: [Route] {
    AuthenticationRoutes(accounts: accounts, ledger: ledger, identities: authenticator.identities).routes
      + sessionRoutes + [exportRoute] + accountRoutes + mailRoutes
  }

  /// The routes that an administrator may use for a user.
  package var routesOfUser: [Route] { sessionRoutes + [exportRoute] }

  private var sessionRoutes: [Route] {
    let session = ["Session": Session.format.schema]
    let sessionID = RouteParameter(
      "id",
      in: .path,
      "The session's id, or `current`.",
      schema: ["anyOf": [.uuidSchema, ["const": "current"]]]
    )
    return [
      Route(.get, "/v1/sessions", summary: "Lists the user's sessions.") { request in
        try reading(request, sessions)
      }
      .described(
        .account("listSessions", shows: .schema(["items": .arraySchema(of: .reference("Session"))]), schemas: session)
      ),
      Route(.get, "/v1/sessions/{id}", summary: "Shows a session.") { request in
        try reading(request) { try await self.session(request.parameters["id"] ?? "", by: $0) }
      }
      .described(.account("getSession", [sessionID], shows: .reference("Session"), [.notFound], schemas: session)),
      Route(.delete, "/v1/sessions/{id}", summary: "Ends a session: its token stops working at once.") { request in
        try leaving(request, key: Self.logoutKey) { session, _ in try revoke(request, by: session) }
      }
      .described(.changingAccount("logOut", [sessionID], problems: [.notFound])),
    ]
  }

  private var exportRoute: Route {
    Route(.get, "/v1/me/export", summary: "Exports all data about the user as one document.") { request in
      try responding(to: request) { session, preconditions in
        try await export.response(of: session.user, from: request.network(of: session), preconditions)
      }
    }
    .described(.export(own: export.own, declared: export.modules.current.declared.values.map(\.module)))
  }

  private var accountRoutes: [Route] {
    let user = ["User": User.format.schema]
    let newPassword = JSON.newPasswordSchema(accounts.configuration.passwordRules)
    return [
      Route(.get, "/v1/me", summary: "Shows the account.") { request in
        try reading(request, me)
      }
      .described(.account("getMe", shows: .reference("User"), schemas: user)),
      Route(
        .put,
        "/v1/me/password",
        summary: "Changes the password and ends every other session.",
        bodyLimit: AuthenticationRoutes.bodyLimit
      ) { request in
        try authenticator.respond(to: request) { session in
          try request.withBody { body in try changePassword(request, body, session) }
        }
      }
      .described(
        .changingAccount(
          "changePassword",
          body: RouteBody(.closedSchema(["current": .passwordSchema, "new": newPassword])),
          problems: [.tooManyRequests]
        )
      ),
      Route(.delete, "/v1/me", summary: "Erases the user and all of their data.") { request in
        try leaving(request, key: Self.erasureKey) { session, body in try erase(request, body, session) }
      }
      .described(
        .changingAccount(
          "eraseMe",
          body: RouteBody(.closedSchema([:], optional: ["password": .passwordSchema]), isRequired: false),
          problems: [.tooManyRequests]
        )
      ),
      credentialsRoute,
    ]
  }

  // MARK: Reading

  /// Responds with a document about the user, or 304.
  private func reading(
    _ request: Request,
    _ document: @escaping @Sendable (LiveSession) async throws -> PrivateDocument
  ) throws -> HandlerResult {
    try responding(to: request) { session, preconditions in
      let network = request.network(of: session)
      let document = try await readers.takeTurn(for: session.user, from: network) { try await document(session) }
      return try document.response(preconditions)
    }
  }

  private func responding(
    to request: Request,
    _ read: @escaping @Sendable (LiveSession, Preconditions) async throws -> Response
  ) throws -> HandlerResult {
    try authenticator.respond(to: request) { session in
      let preconditions = try Preconditions(of: request.head)
      return .making(Problem.init(accounts:)) { try await read(session, preconditions) }
    }
  }

  private func me(_ session: LiveSession) async throws -> PrivateDocument {
    guard let user = try await accounts.user(session.user) else { throw AccountsError.sessionEnded }
    return PrivateDocument(User.format.encode(user))
  }

  private func sessions(of current: LiveSession) async throws -> PrivateDocument {
    let items = try await accounts.sessions(of: current.user).map { Session.format.encode(($0, $0.id == current.id)) }
    return PrivateDocument(["items": .array(items)])
  }

  private func session(_ id: String, by current: LiveSession) async throws -> PrivateDocument {
    guard let id = SessionID(id, current: current.id),
      let session = try await accounts.read({ try accounts.session(id, of: current.user, from: $0) })
    else { throw AccountsError.noSuchSession }
    return PrivateDocument(session, isCurrent: id == current.id)
  }

  // MARK: Writing

  private func revoke(_ request: Request, by current: LiveSession) throws -> HandlerResult {
    let id = SessionID(request.parameters["id"] ?? "", current: current.id)
    let key =
      id == current.id
      ? try Self.logoutKey(request, [])
      : try IdempotencyKey(of: request, body: []).map {
        AccountsLedger.Key(key: $0.owned(by: current), owner: .user(current.user))
      }
    let preconditions = try Preconditions(of: request.head)
    return later(key, by: current.agent) { () throws(AccountsError) in
      guard let id else { throw .noSuchSession }
      return accounts.revoking(id, of: current.user).checked { connection in
        guard !preconditions.isEmpty,
          let session = try accounts.session(id, of: current.user, from: connection)
        else { return }
        try PrivateDocument(session, isCurrent: id == current.id).check(preconditions)
      }
    }
  }

  private func changePassword(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let (current, new) = (reader.text("current"), reader.text("new"))
    let passwords = (current: Password(current ?? ""), new: Password(new ?? ""))
    reader.add(accounts.faults(inNew: passwords.new))
    try reader.finishProblem()
    let key = try Self.key(request, body, secret: request.token, owner: .user(session.user))
    let check = try accountCheck(request, session)
    return later(key) { () throws(AccountsError) in
      try await accounts.prepareChangePassword(
        from: passwords.current,
        to: passwords.new,
        in: session,
        from: request.network,
        if: check
      )
    }
  }

  private func erase(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(body.isEmpty ? [:] : try JSON(readingBodyOf: request, body))
    let text = reader.value("password") == nil ? nil : reader.text("password")
    try reader.finishProblem()
    let password = text.map { Password($0) }
    let check = try accountCheck(request, session, orStateOf: store)
    return later(try Self.erasureKey(request, body)) { () throws(AccountsError) in
      try await accounts.prepareErase(confirmedBy: password, in: session, from: request.network, if: check)
    } done: {
      cache.forget(session.user)
    }
  }

  /// Returns a check of the request's preconditions on the account, which runs before any hash and in
  /// the write's transaction. If `store` is given, `If-Match` may also have a cursor of the user's whole
  /// state in that store.
  func accountCheck(
    _ request: Request,
    _ session: LiveSession,
    orStateOf store: String? = nil
  ) throws -> @Sendable (StoreConnection) throws -> Void {
    let preconditions = try Preconditions(of: request.head)
    return { connection in
      guard !preconditions.isEmpty,
        let account = try UserRecords(connection: connection).account(session.user)
      else { return }
      let state = try store.map { store in
        Cursor(store: store, revision: try Journal(connection: connection).end(of: session.user).revision)
      }
      try PrivateDocument(User.format.encode(account.user)).check(preconditions, orStateAt: state)
    }
  }

  /// Makes a change whose response is 204.
  private func later(
    _ key: AccountsLedger.Key?,
    by agent: LiveServiceToken? = nil,
    prepare: @escaping @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Void>,
    done: @escaping @Sendable () -> Void = {}
  ) -> HandlerResult {
    .making(Problem.init(accounts:)) {
      let keyed = try await ledger.commit(
        key: key,
        by: agent,
        prepare: prepare,
        committed: { done() },
        response: { (StoredResponse(.done), recorded: StoredResponse(.done)) },
        refusal: { $0.lastingRefusal(of: key) }
      )
      return Response(keyed)
    }
  }

  // MARK: Requests that may end their own session

  /// Handles a request that may end its own session. If a client sends such a request again, its
  /// token is no longer valid. `key` finds the stored response, because it is made from the token.
  private func leaving(
    _ request: Request,
    key: @escaping @Sendable (Request, [UInt8]) throws -> AccountsLedger.Key?,
    _ leave: @escaping @Sendable (LiveSession, [UInt8]) throws -> HandlerResult
  ) throws -> HandlerResult {
    let lastResponse: @Sendable () async throws -> Response? = {
      do {
        guard let key = try key(request, try await request.body.collect()) else { return nil }
        return try await ledger.response(to: key).map { Response(KeyedResponse(response: $0, isReplay: true)) }
      } catch {
        throw Problem(accounts: error) ?? error
      }
    }
    return try authenticator.respond(to: request, orElse: lastResponse) { session in
      try request.withBody { body in try leave(session, body) }
    }
  }

  /// The key of a request that ends its own session.
  private static func logoutKey(_ request: Request, _ body: [UInt8]) throws -> AccountsLedger.Key? {
    try key(request, [], owner: .holder(of: request.token))
  }

  /// The key of a request that erases its user. The body has the password, so the key also needs a
  /// secret: the token.
  private static func erasureKey(_ request: Request, _ body: [UInt8]) throws -> AccountsLedger.Key? {
    try key(request, body, secret: request.token, owner: .holder(of: request.token))
  }

  static func key(
    _ request: Request,
    _ body: [UInt8],
    secret: [UInt8] = [],
    owner: IdempotencyKeyOwner
  ) throws -> AccountsLedger.Key? {
    try IdempotencyKey(of: request, body: body, secret: secret).map { AccountsLedger.Key(key: $0, owner: owner) }
  }
}

extension Request {
  /// The network of the client.
  var network: ClientNetwork { ClientNetwork(host: peer.host) }

  /// The bearer token as the client sent it, or empty if the request has none.
  package var token: [UInt8] {
    head.withBytes(of: .authorization) { TokenAuthenticator.bearerToken(in: $0).map(Array.init) ?? [] } ?? []
  }
}

extension Response {
  package static var done: Response {
    Response(status: .noContent, fields: HeaderFields([.cacheControl: "no-store"]))
  }
}
