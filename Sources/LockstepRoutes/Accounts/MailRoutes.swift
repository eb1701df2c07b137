import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync
import LockstepThreading

// `/v1/password-resets`, `/v1/me/email` and `/v1/email-proofs`: the routes for mails with links.
// Without a way to send the mails, they respond with 404.

extension AccountsRoutes {
  var mailRoutes: [Route] {
    let limit = AuthenticationRoutes.bodyLimit
    return [
      Route(
        .post,
        "/v1/password-resets",
        summary: "Asks for a mail with a link to choose a new password. The response is the same for any address.",
        bodyLimit: limit
      ) { try askForReset($0) }
      .described(.requestingReset),
      Route(
        .put,
        "/v1/password-resets/{token}",
        summary: "Sets the password with the token of a mail, and ends all sessions of the user.",
        bodyLimit: limit
      ) { try resetPassword($0) }
      .described(.resettingPassword(accounts.configuration.passwordRules)),
      Route(
        .put,
        "/v1/me/email",
        summary: "Asks for a mail that proves an e-mail address, a new one or the present one.",
        bodyLimit: limit
      ) { request in
        try authenticator.respond(to: request) { session in
          try request.withBody { body in try askForProof(request, body, session) }
        }
      }
      .described(.requestingProof),
      Route(
        .post,
        "/v1/email-proofs/{token}",
        summary: "Proves an e-mail address with the token of a mail. It becomes the address of the account."
      ) { try proveEmail($0) }
      .described(.provingEmail),
    ]
  }

  // MARK: Asking for mails

  private func askForReset(_ request: Request) throws -> HandlerResult {
    try request.withBody { body in
      var reader = PayloadReader(try JSON(readingBodyOf: request, body))
      let email = reader.text("email") ?? ""
      try reader.finishProblem()
      let key = try Self.key(request, body, owner: .visitor(address: email))
      let context = AccountMail.Context(request)
      return .making(Problem.init(accounts:)) {
        try await mail.expect(.passwordReset)
        guard key != nil else {
          try mail.queue.reserve(for: context.network)
          mail.queueResetLink(for: email, context)
          return .accepted
        }
        return try await commitAndQueue(
          key,
          context.network,
          prepare: { () throws(AccountsError) in PreparedAccountsWrite { _ in ((), []) } },
          queue: { mail.queueResetLink(for: email, context) }
        )
      }
    }
  }

  private func askForProof(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let (email, password) = (reader.text("email") ?? "", Password(reader.text("password") ?? ""))
    reader.add(AccountMail.faults(in: email))
    try reader.finishProblem()
    let key = try Self.key(request, body, secret: request.token, owner: .user(session.user))
    let check = try accountCheck(request, session)
    let context = AccountMail.Context(request)
    return .making(Problem.init(accounts:)) {
      try await mail.expect(.emailProof)
      return try await commitAndQueue(
        key,
        context.network,
        prepare: { () throws(AccountsError) in
          try await mail.prepareProofRequest(
            of: email,
            confirmedBy: password,
            in: session,
            from: request.network,
            if: check
          )
        },
        queue: { mail.queueProofLink(for: $0, context) }
      )
    }
  }

  /// Reserves a place in the queue of mails. After the commit, `queue` uses it.
  private func commitAndQueue<Value: Sendable>(
    _ key: AccountsLedger.Key?,
    _ network: ClientNetwork,
    prepare: @escaping @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Value>,
    queue: @escaping @Sendable (Value) -> Void
  ) async throws -> Response {
    try mail.queue.reserve(for: network)
    let isQueued = LockedState(false)
    defer { if !isQueued.withLock({ $0 }) { mail.queue.abandon(for: network) } }
    let keyed = try await ledger.commit(
      key: key,
      prepare: prepare,
      committed: { value in
        isQueued.withLock { $0 = true }
        queue(value)
      },
      response: { _ in (StoredResponse(.accepted), recorded: StoredResponse(.accepted)) },
      refusal: { $0.lastingRefusal(of: key) }
    )
    return Response(keyed)
  }

  // MARK: Using links

  private func resetPassword(_ request: Request) throws -> HandlerResult {
    try request.withBody { body in
      var reader = PayloadReader(try JSON(readingBodyOf: request, body))
      let password = Password(reader.text("password") ?? "")
      reader.add(mail.faults(inNew: password))
      try reader.finishProblem()
      let token = request.parameters["token"] ?? ""
      let secret = Array(token.utf8)
      let key = try Self.key(request, body, secret: secret, owner: .holder(of: secret))
      return useLink(.passwordReset, key) { () throws(AccountsError) in
        try await mail.prepareReset(MailToken(token), to: password, from: request.network)
      }
    }
  }

  private func proveEmail(_ request: Request) throws -> HandlerResult {
    let token = request.parameters["token"] ?? ""
    let key = try Self.key(request, [], owner: .holder(of: Array(token.utf8)))
    let context = AccountMail.Context(request)
    return useLink(.emailProof, key) { () throws(AccountsError) in
      try await mail.prepareProof(MailToken(token), context)
    }
  }

  private func useLink(
    _ kind: MailLink.Kind,
    _ key: AccountsLedger.Key?,
    prepare: @escaping @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<Void>
  ) -> HandlerResult {
    .making(Problem.init(accounts:)) {
      try await mail.expect(kind)
      let keyed = try await ledger.commit(
        key: key,
        prepare: prepare,
        response: { (StoredResponse(.done), recorded: StoredResponse(.done)) },
        refusal: { $0.lastingRefusal(of: key) }
      )
      return Response(keyed)
    }
  }
}

extension AccountMail.Context {
  fileprivate init(_ request: Request) {
    self.init(from: request.network, languages: request.head.preferredLanguages)
  }
}

extension Response {
  fileprivate static var accepted: Response {
    Response(status: .accepted, fields: HeaderFields([.cacheControl: "no-store"]))
  }
}

// MARK: - Descriptions

extension RouteResponse {
  fileprivate static let accepted = RouteResponse(
    .accepted,
    "Accepted. The response does not say whether a mail is sent.",
    fields: [.cacheControl, .idempotencyReplayed],
    sharedName: "Accepted"
  )
}

extension RouteDescription {
  private static let token = RouteParameter("token", in: .path, "The token of a mail.", schema: .textSchema)
  private static let acceptLanguage = RouteParameter(
    "Accept-Language",
    in: .header,
    "The languages that the user prefers, for the mail. The user default `language` comes before them.",
    schema: ["type": "string", "examples": ["de-AT, en;q=0.8"]],
    sharedName: "Accept-Language-of-a-mail"
  )

  fileprivate static let requestingReset = withoutUser(
    "requestPasswordReset",
    [acceptLanguage],
    RouteBody(.closedSchema(["email": .textSchema])),
    .accepted
  )

  fileprivate static func resettingPassword(_ rules: PasswordRules) -> RouteDescription {
    withoutUser("resetPassword", [token], RouteBody(.closedSchema(["password": .newPasswordSchema(rules)])), .done)
  }

  fileprivate static let provingEmail = withoutUser("proveEmail", [token, acceptLanguage], nil, .done)

  private static func withoutUser(
    _ name: String,
    _ parameters: [RouteParameter],
    _ body: RouteBody?,
    _ response: RouteResponse
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Accounts",
      parameters: parameters + [.idempotencyKey],
      body: body,
      responses: [response],
      problems: bodyProblems(body).union([.invalidParameter, .notFound, .conflict, .overloaded])
    )
  }

  fileprivate static let requestingProof: RouteDescription = {
    var description = changingAccount(
      "requestEmailProof",
      [acceptLanguage],
      body: RouteBody(.closedSchema(["email": .emailSchema, "password": .passwordSchema])),
      problems: [.notFound, .tooManyRequests]
    )
    description.responses = [.accepted]
    return description
  }()
}
