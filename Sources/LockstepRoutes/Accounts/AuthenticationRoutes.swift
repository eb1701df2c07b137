import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// `POST /v1/users` and `POST /v1/sessions`: coming in.
package struct AuthenticationRoutes: Sendable {
  /// One of the two ways in.
  private struct Entrance: Sendable {
    let faults: @Sendable (Credentials) -> [FieldFault]
    /// The slow part of it.
    let prepare: @Sendable (Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>
    /// Where what is new is found.
    let location: @Sendable (SignedIn) -> String
  }

  /// The largest body of who may be anybody: far more than an address, a password and a device's name take.
  static let bodyLimit = 16 * 1024

  let accounts: StoredAccounts
  let ledger: AccountsLedger

  package init(accounts: StoredAccounts, ledger: AccountsLedger) {
    self.accounts = accounts
    self.ledger = ledger
  }

  package var routes: [Route] {
    let accounts = accounts
    let signUp = Entrance(faults: accounts.signUpFaults(in:)) { credentials throws(AccountsError) in
      try await accounts.prepareSignUp(credentials)
    } location: { _ in
      "/v1/me"
    }
    let logIn = Entrance(faults: accounts.logInFaults(in:)) { credentials throws(AccountsError) in
      try await accounts.prepareLogIn(credentials)
    } location: {
      "/v1/sessions/\($0.session.id)"
    }
    return [
      Route(
        .post,
        "/v1/users",
        summary: "Makes an account and logs this device in.",
        bodyLimit: Self.bodyLimit
      ) { request in
        try answer(request, signUp)
      }
      .described(
        Self.described(
          "signUp",
          password: .newPasswordSchema(accounts.configuration.passwordRules),
          answer: "The user is made and logged in.",
          [.forbidden]
        )
      ),
      Route(.post, "/v1/sessions", summary: "Logs this device in.", bodyLimit: Self.bodyLimit) { request in
        try answer(request, logIn)
      }
      .described(
        Self.described(
          "logIn",
          password: .passwordSchema,
          answer: "The user is logged in.",
          [.forbidden, .unauthorized]
        )
      ),
    ]
  }

  private static func described(
    _ name: String,
    password: JSON,
    answer: String,
    _ problems: Set<ProblemKind>
  ) -> RouteDescription {
    let device: JSON = [
      "type": ["string", "null"], "maxLength": JSON(DeviceName.maximumCharacters),
      "pattern": .string(DeviceName.pattern),
    ]
    let body = RouteBody(
      .closedSchema(of: [
        SchemaMember(
          name: "email",
          schema: ["type": "string", "format": "email", "maxLength": JSON(EmailAddress.maximumBytes)]
        ),
        SchemaMember(name: "password", schema: password),
        SchemaMember(name: "device", schema: device, isRequired: false),
      ])
    )
    return RouteDescription(
      name,
      part: "Accounts",
      parameters: [.idempotencyKey],
      body: body,
      answers: [
        RouteAnswer(
          .created,
          answer,
          fields: [.cacheControl, .location, .idempotencyReplayed],
          json: .schema(ofObject: [
            SchemaMember(name: "user", schema: .reference("User")),
            SchemaMember(name: "token", schema: .textSchema),
            SchemaMember(name: "expiresAt", schema: .timeSchema),
            SchemaMember(
              name: "session",
              schema: .schema(ofObject: [
                SchemaMember(name: "id", schema: .uuidSchema),
                SchemaMember(name: "device", schema: ["type": ["string", "null"]]),
                SchemaMember(name: "createdAt", schema: .timeSchema),
              ])
            ),
          ])
        )
      ],
      problems: problems.union(RouteDescription.bodyProblems(body)).union([
        .invalidParameter, .conflict, .tooManyRequests, .overloaded,
      ]),
      schemas: ["User": User.schema]
    )
  }

  private func answer(_ request: Request, _ entrance: Entrance) throws -> HandlerResult {
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
      return .async {
        do {
          return .response(try await enter(credentials, key, Array(request.head.path.utf8) + body, entrance))
        } catch {
          throw Problem(accounts: error) ?? error
        }
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
    let settlement = try await ledger.enter(
      credentials,
      key: key,
      request: request,
      prepare: { () throws(AccountsError) in try await entrance.prepare(credentials) },
      answer: { StoredResponse(Self.response($0, entrance)) }
    )
    return Response(settlement)
  }

  private static func response(_ entered: SignedIn, _ entrance: Entrance) -> Response {
    let document: JSON = [
      "user": entered.user.json,
      "token": .string(entered.token.text),
      "expiresAt": .string(entered.session.expiresAt.description),
      "session": [
        "id": .string(entered.session.id.description),
        "device": entered.session.device.map(JSON.string) ?? .null,
        "createdAt": .string(entered.session.createdAt.description),
      ],
    ]
    var response = Response.json(document, status: .created, cacheControl: "no-store")
    response.fields.append(.location, entrance.location(entered))
    return response
  }
}

extension User {
  /// The user, as clients see them.
  var json: JSON {
    ["id": .string(id.description), "email": .string(email), "createdAt": .string(createdAt.description)]
  }

  /// The JSON Schema of that.
  static var schema: JSON {
    .schema(ofObject: [
      SchemaMember(name: "id", schema: .uuidSchema), SchemaMember(name: "email", schema: .textSchema),
      SchemaMember(name: "createdAt", schema: .timeSchema),
    ])
  }
}

extension JSON {
  /// Reads the body of a request where no patch is meant.
  init(readingBodyOf request: Request, _ body: [UInt8]) throws(Problem) {
    _ = try BodyType(of: request.head)
    try self.init(body: body)
  }
}
