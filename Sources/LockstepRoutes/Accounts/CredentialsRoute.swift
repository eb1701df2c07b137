import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync

/// `PUT /v1/me/credentials`: turns an anonymous user into one who can log in on other devices.
extension AccountsRoutes {
  var credentialsRoute: Route {
    Route(
      .put,
      "/v1/me/credentials",
      summary: "Gives an anonymous user credentials. The user's state and sessions stay.",
      bodyLimit: AuthenticationRoutes.bodyLimit
    ) { request in
      try authenticator.respond(to: request) { session in
        try request.withBody { body in try setCredentials(request, body, session) }
      }
    }
    .described(.settingCredentials(accounts.configuration.passwordRules))
  }

  private func setCredentials(_ request: Request, _ body: [UInt8], _ session: LiveSession) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let check = try accountCheck(request, session)
    let prepare =
      reader.value("idToken") == nil
      ? passwordWrite(&reader, session, request.network, check) : identityWrite(&reader, session, check)
    try reader.finishProblem()
    let key = try Self.key(request, body, secret: request.token, owner: .user(session.user))
    return .making(Problem.init(accounts:)) {
      let keyed = try await ledger.commit(
        key: key,
        prepare: prepare,
        response: { user in
          let response = StoredResponse(PrivateDocument(User.format.encode(user)).changed)
          return (response, recorded: response)
        },
        refusal: { $0.lastingRefusal(of: key) }
      )
      return Response(keyed)
    }
  }

  private typealias Check = @Sendable (StoreConnection) throws -> Void
  private typealias Preparation = @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<User>

  private func passwordWrite(
    _ reader: inout PayloadReader,
    _ session: LiveSession,
    _ network: ClientNetwork,
    _ check: @escaping Check
  ) -> Preparation {
    let (email, password) = (reader.text("email") ?? "", Password(reader.text("password") ?? ""))
    reader.add(accounts.faults(adding: email, password))
    return { () throws(AccountsError) in
      try await accounts.prepareCredentials(email: email, password, in: session, from: network, if: check)
    }
  }

  private func identityWrite(
    _ reader: inout PayloadReader,
    _ session: LiveSession,
    _ check: @escaping Check
  ) -> Preparation {
    let identities = authenticator.identities
    let token = reader.text("idToken") ?? ""
    return { () throws(AccountsError) in
      do throws(AccountsError) {
        guard let identities else { throw .invalidToken(IdentitySessions.noIssuers) }
        return accounts.prepareCredentials(try await identities.identity(of: token), in: session)
          .checked(by: check)
      } catch .invalidToken(let reason) {
        // Not 401, because clients discard their token after a 401, and that token is valid.
        throw .refusedToken(reason)
      }
    }
  }
}

extension PrivateDocument {
  /// The response to a write that has made the document.
  package var changed: Response {
    var response = Response.json(json, cacheControl: "no-store")
    response.fields.append(.etag, "\"\(tag)\"")
    return response
  }
}
