import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepStore
import LockstepSync
import LockstepThreading

/// `/v1/sessions` and `/v1/me` for who is logged in: who they are, their devices, and leaving.
package struct AccountsRoutes: Sendable {
  let accounts: StoredAccounts
  let ledger: AccountsLedger
  let gate: TokenAuthenticator
  let export: UserExport
  let shares: FairShareLimiter<UserID>
  /// Told of a user who is gone.
  let forget: @Sendable (UserID) -> Void

  package init(
    accounts: StoredAccounts,
    ledger: AccountsLedger,
    gate: TokenAuthenticator,
    export: UserExport,
    shares: FairShareLimiter<UserID>,
    forget: @escaping @Sendable (UserID) -> Void
  ) {
    self.accounts = accounts
    self.ledger = ledger
    self.gate = gate
    self.export = export
    self.shares = shares
    self.forget = forget
  }

  package var routes: [Route] {
    [
      Route(.get, "/v1/sessions", summary: "The devices that are logged in.") { request in
        try reading(request) { session, preconditions in
          let document = try await shares.run(for: session.user) { try await sessions(of: session) }
          return .privately(document, preconditions)
        }
      }
      .described(AccountsDescriptions.sessions),
      Route(.delete, "/v1/sessions/{id}", summary: "Logs a device out: its token stops working at once.") { request in
        try leaving(request, key: Self.logoutKey) { session, _ in try revoke(request, by: session) }
      }
      .described(AccountsDescriptions.revoke),
      Route(.get, "/v1/me", summary: "Who is logged in.") { request in
        try reading(request) { session, preconditions in
          .privately(try await shares.run(for: session.user) { try await me(session) }, preconditions)
        }
      }
      .described(AccountsDescriptions.me),
      Route(
        .put,
        "/v1/me/password",
        summary: "Changes the password; every other session ends.",
        bodyLimit: AuthenticationRoutes.bodyLimit
      ) { request in
        try gate.answer(request) { session in
          try request.withBody { body in try changePassword(request, body, session) }
        }
      }
      .described(AccountsDescriptions.changePassword(accounts.configuration.passwordRules)),
      Route(.get, "/v1/me/export", summary: "All that is stored about the user, as one document.") { request in
        try reading(request) { session, preconditions in try await export.response(of: session.user, preconditions) }
      }
      .described(AccountsDescriptions.export(own: export.own)),
      Route(.delete, "/v1/me", summary: "Erases the user and all that is theirs.") { request in
        try leaving(request, key: Self.erasureKey) { session, body in try erase(request, body, session) }
      }
      .described(AccountsDescriptions.erase),
    ]
  }

  // MARK: Reading

  /// Answers with what there is about the user, unless the client has it already.
  private func reading(
    _ request: Request,
    _ read: @escaping @Sendable (LiveSession, Preconditions) async throws -> Response
  ) throws -> HandlerResult {
    try gate.answer(request) { session in
      let preconditions = try Preconditions(of: request.head)
      return .async {
        do { return .response(try await read(session, preconditions)) } catch {
          throw Problem(accounts: error) ?? error
        }
      }
    }
  }

  private func me(_ session: LiveSession) async throws -> JSON {
    guard let user = try await accounts.user(session.user) else { throw AccountsError.sessionEnded }
    return user.json
  }

  private func sessions(of current: LiveSession) async throws -> JSON {
    let items = try await accounts.sessions(of: current.user).map { Self.json($0, current: current.id) }
    return ["items": .array(items)]
  }

  private static func json(_ session: Session, current: SessionID) -> JSON {
    var item: JSONObject = [
      "id": .string(session.id.description),
      "device": session.device.map(JSON.string) ?? .null,
      "createdAt": .string(session.createdAt.description),
      "lastSeenAt": .string(session.lastSeenAt.description),
    ]
    if let cursor = session.cursor { item["cursor"] = .string(cursor) }
    item["current"] = .bool(session.id == current)
    return .object(item)
  }

  // MARK: Writing

  private func revoke(_ request: Request, by current: LiveSession) throws -> HandlerResult {
    let id = SessionID(request.parameters["id"] ?? "", current: current.id)
    let other = try IdempotencyKey(of: request, body: []).map {
      AccountsLedger.Key(key: $0, owner: .user(current.user))
    }
    return later(id == current.id ? try Self.logoutKey(request, []) : other) { () throws(AccountsError) in
      guard let id else { throw .noSuchSession }
      return accounts.revoking(id, of: current.user)
    }
  }

  private func changePassword(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let (current, new) = (reader.text("current"), reader.text("new"))
    let passwords = (current: Password(current ?? ""), new: Password(new ?? ""))
    reader.add(accounts.faults(inNew: passwords.new))
    try reader.finishProblem()
    let key = try IdempotencyKey(of: request, body: body, secret: request.token)
    return later(key.map { AccountsLedger.Key(key: $0, owner: .user(session.user)) }) { () throws(AccountsError) in
      try await accounts.prepareChangePassword(from: passwords.current, to: passwords.new, in: session)
    }
  }

  private func erase(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let text = reader.text("password")
    try reader.finishProblem()
    let password = Password(text ?? "")
    return later(try Self.erasureKey(request, body)) { () throws(AccountsError) in
      try await accounts.prepareErase(confirmedBy: password, in: session)
    } done: {
      forget(session.user)
    }
  }

  /// Makes a change whose answer is that it's done.
  private func later(
    _ key: AccountsLedger.Key?,
    prepare: @escaping @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Void>,
    done: @escaping @Sendable () -> Void = {}
  ) -> HandlerResult {
    .async {
      do {
        let settlement = try await ledger.commit(
          key: key,
          prepare: prepare,
          answer: StoredResponse(.done),
          refusal: { $0.isLasting ? StoredResponse(Problem($0).response) : nil }
        )
        if settlement.answer.status == Status.noContent.code { done() }
        return .response(Response(settlement))
      } catch {
        throw Problem(accounts: error) ?? error
      }
    }
  }

  // MARK: Leaving

  /// Answers a request that may end its own session. Where it did so before and is sent again, its token is worthless and
  /// still tells whose answer it is: `key` makes that of it.
  private func leaving(
    _ request: Request,
    key: @escaping @Sendable (Request, [UInt8]) throws -> AccountsLedger.Key?,
    _ leave: @escaping @Sendable (LiveSession, [UInt8]) throws -> HandlerResult
  ) throws -> HandlerResult {
    let lastAnswer: @Sendable () async throws -> Response? = {
      do {
        guard let key = try key(request, try await request.body.collect()) else { return nil }
        return try await ledger.answer(to: key).map { Response(KeyedResponse(answer: $0, isReplay: true)) }
      } catch {
        throw Problem(accounts: error) ?? error
      }
    }
    return try gate.answer(request, orElse: lastAnswer) { session in
      try request.withBody { body in try leave(session, body) }
    }
  }

  /// The key of a request by which a device logs itself out.
  private static func logoutKey(_ request: Request, _ body: [UInt8]) throws -> AccountsLedger.Key? {
    try IdempotencyKey(of: request, body: [])
      .map { AccountsLedger.Key(key: $0, owner: .holder(of: request.token)) }
  }

  /// The key of a request by which a user erases themselves; the body holds the password.
  private static func erasureKey(_ request: Request, _ body: [UInt8]) throws -> AccountsLedger.Key? {
    try IdempotencyKey(of: request, body: body, secret: request.token)
      .map { AccountsLedger.Key(key: $0, owner: .holder(of: request.token)) }
  }
}

extension Request {
  /// The token, as it came; empty without one.
  fileprivate var token: [UInt8] {
    head.withBytes(of: .authorization) { TokenAuthenticator.bearerToken(in: $0).map(Array.init) ?? [] } ?? []
  }
}

extension AccountsError {
  /// Whether the same request again would be refused for the same reason: then the refusal is its answer for good.
  fileprivate var isLasting: Bool {
    switch self {
    case .wrongPassword, .noSuchSession: true
    default: false
    }
  }
}

extension Response {
  /// A document for one user alone, or that the client has it already. Its ETag is made of its bytes.
  static func privately(_ document: JSON, _ preconditions: Preconditions) -> Response {
    let body = document.encoded()
    let tag = Digest.text(of: body)
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization")
    if preconditions.isFresh(tag) { return Response(status: .notModified, fields: fields) }
    fields.append(.contentType, "application/json")
    return Response(status: .ok, fields: fields, body: .bytes(body))
  }

  /// It's done, and there is nothing to say.
  static var done: Response {
    var fields = HeaderFields()
    fields.append(.cacheControl, "no-store")
    return Response(status: .noContent, fields: fields)
  }
}
