import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// `POST /v1/users` and `POST /v1/sessions`: sign-up and login.
struct AuthenticationRoutes: Sendable {
  /// The differences between a sign-up and a login.
  private struct Entrance: Sendable {
    let faults: @Sendable (Credentials) -> [FieldFault]
    let prepare: @Sendable (Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>
    let location: @Sendable (SignedIn) -> String
  }

  /// The largest body, in bytes, of a sign-up, a login and a change of the password.
  static let bodyLimit = 16 * 1024

  let accounts: StoredAccounts
  let ledger: AccountsLedger

  var routes: [Route] {
    let signUp = Entrance(faults: accounts.signUpFaults(in:), prepare: accounts.prepareSignUp) { _ in "/v1/me" }
    let logIn = Entrance(faults: accounts.logInFaults(in:), prepare: accounts.prepareLogIn) {
      "/v1/sessions/\($0.session.id)"
    }
    let newPassword = JSON.newPasswordSchema(accounts.configuration.passwordRules)
    let limit = Self.bodyLimit
    return [
      Route(.post, "/v1/users", summary: "Creates an account and its first session.", bodyLimit: limit) {
        try respond(to: $0, signUp)
      }
      .described(Self.description("signUp", password: newPassword)),
      Route(.post, "/v1/sessions", summary: "Logs a device in: creates a session.", bodyLimit: limit) {
        try respond(to: $0, logIn)
      }
      .described(Self.description("logIn", password: .passwordSchema, [.unauthorized])),
    ]
  }

  private static func description(
    _ name: String,
    password: JSON,
    _ problems: Set<ProblemKind> = []
  ) -> RouteDescription {
    let email: JSON = ["type": "string", "format": "email", "maxLength": JSON(EmailAddress.maximumBytes)]
    let device: JSON = [
      "type": ["string", "null"], "maxLength": JSON(DeviceName.maximumCharacters),
      "pattern": .string(DeviceName.pattern),
    ]
    let body = RouteBody(.closedSchema(["email": email, "password": password], optional: ["device": device]))
    let fields: [RouteField] = [.cacheControl, .location, .idempotencyReplayed]
    return RouteDescription(
      name,
      part: "Accounts",
      parameters: [.idempotencyKey],
      body: body,
      responses: [RouteResponse(.created, "The new session.", fields: fields, json: .reference("SignedIn"))],
      problems: RouteDescription.bodyProblems(body).union(problems).union([
        .invalidParameter, .conflict, .tooManyRequests, .overloaded,
      ]),
      schemas: ["User": User.format.schema, "SignedIn": Session.signedInFormat.schema]
    )
  }

  private func respond(to request: Request, _ entrance: Entrance) throws -> HandlerResult {
    try request.withBody { body in
      let key = try IdempotencyKey.text(of: request)
      var reader = PayloadReader(try JSON(readingBodyOf: request, body))
      let (email, password, device) = (reader.text("email"), reader.text("password"), reader.nullableText("device"))
      let credentials = Credentials(
        email: email ?? "",
        password: Password(password ?? ""),
        device: device,
        network: ClientNetwork(host: request.peer.host)
      )
      reader.add(entrance.faults(credentials))
      try reader.finishProblem()
      return .making(Problem.init(accounts:)) {
        try await enter(credentials, key, Array(request.head.path.utf8) + body, entrance)
      }
    }
  }

  private func enter(
    _ credentials: Credentials,
    _ key: String?,
    _ request: [UInt8],
    _ entrance: Entrance
  ) async throws -> Response {
    guard let key else {
      return Self.response(try await accounts.commit(entrance.prepare(credentials)), entrance)
    }
    let keyed = try await ledger.enter(
      credentials,
      key: key,
      request: request,
      prepare: { () throws(AccountsError) in try await entrance.prepare(credentials) },
      response: { StoredResponse(Self.response($0, entrance)) }
    )
    return Response(keyed)
  }

  private static func response(_ entered: SignedIn, _ entrance: Entrance) -> Response {
    var response = Response.json(Session.signedInFormat.encode(entered), status: .created, cacheControl: "no-store")
    response.fields.append(.location, entrance.location(entered))
    return response
  }
}

extension JSON {
  /// Reads the body of a request as JSON. The request must not be a patch.
  init(readingBodyOf request: Request, _ body: [UInt8]) throws(Problem) {
    _ = try BodyType(of: request.head)
    try self.init(body: body)
  }
}
