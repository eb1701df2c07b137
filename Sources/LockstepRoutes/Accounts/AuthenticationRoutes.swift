import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync

/// `POST /v1/users` and `POST /v1/sessions`: sign-up and login.
package struct AuthenticationRoutes: Sendable {
  /// The differences between a sign-up and a login with a password.
  private struct Entrance: Sendable {
    let faults: @Sendable (Credentials) -> [FieldFault]
    let prepare: @Sendable (Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>
    let location: @Sendable (SignedIn) -> String
    /// The owner of the hashes that follow `prepare`. A login is known then, because the password was right.
    let owner: @Sendable (ClientNetwork) -> HashingOwner
  }

  /// The largest body, in bytes, of a sign-up, a login and a change of the password.
  package static let bodyLimit = 16 * 1024
  /// The fewest bytes of an idempotency key that protects the token of an anonymous user: about 128 bits
  /// in base64.
  static let fewestKeyBytes = 22

  package let accounts: StoredAccounts
  package let ledger: AccountsLedger
  /// Nil: the server accepts no tokens of other issuers.
  let identities: IdentitySessions?

  var routes: [Route] {
    [
      Route(.post, "/v1/users", summary: "Creates an account and its first session.", bodyLimit: Self.bodyLimit) {
        try signUp($0)
      }
      .described(Self.signingUp(accounts.configuration.passwordRules)),
      Route(.post, "/v1/sessions", summary: "Logs a device in: creates a session.", bodyLimit: Self.bodyLimit) {
        try logIn($0)
      }
      .described(Self.loggingIn),
    ]
  }

  private func signUp(_ request: Request) throws -> HandlerResult {
    try request.withBody { body in
      var reader = PayloadReader(try JSON(readingBodyOf: request, body))
      if reader.value("anonymous") != nil, reader.flag("anonymous") == true {
        return try signUpAnonymously(request, body, &reader)
      }
      let entrance = Entrance(
        faults: accounts.signUpFaults(in:),
        prepare: { (credentials) throws(AccountsError) in try await accounts.prepareSignUp(credentials) },
        location: Self.me,
        owner: { .change($0) }
      )
      return try enter(request, body, &reader, entrance)
    }
  }

  private func logIn(_ request: Request) throws -> HandlerResult {
    try request.withBody { body in
      var reader = PayloadReader(try JSON(readingBodyOf: request, body))
      if reader.value("idToken") != nil { return try logInByToken(request, body, &reader) }
      let entrance = Entrance(
        faults: accounts.logInFaults(in:),
        prepare: { (credentials) throws(AccountsError) in try await accounts.prepareLogIn(credentials) },
        location: Self.session,
        owner: { .login($0, isKnown: true) }
      )
      return try enter(request, body, &reader, entrance)
    }
  }

  // MARK: Anonymous users

  private func signUpAnonymously(
    _ request: Request,
    _ body: [UInt8],
    _ reader: inout PayloadReader
  ) throws -> HandlerResult {
    let client = ClientDevice(device: reader.nullableText("device"), network: request.network)
    reader.add(accounts.faults(in: client))
    try reader.finishProblem()
    let key = try IdempotencyKey.text(of: request)
    if let key, key.utf8.count < Self.fewestKeyBytes { throw Self.guessableKey }
    return .making(Problem.init(accounts:)) {
      // The key is the secret: a client that sends it again gets the token again.
      try await enter(
        secret: key.map { Array($0.utf8) } ?? [],
        key,
        Array(request.head.path.utf8) + body,
        at: Self.me
      ) { () throws(AccountsError) in
        try await accounts.prepareSignUp(client)
      }
    }
  }

  private static let guessableKey = Problem(
    .invalidParameter,
    detail:
      "The Idempotency-Key of an anonymous sign-up must have at least \(fewestKeyBytes) bytes, because the same key "
      + "returns the user's token again. Use a random UUID."
  )

  // MARK: Tokens of other issuers

  private func logInByToken(
    _ request: Request,
    _ body: [UInt8],
    _ reader: inout PayloadReader
  ) throws -> HandlerResult {
    let (token, device) = (reader.text("idToken") ?? "", reader.nullableText("device"))
    let client = ClientDevice(device: device, network: request.network)
    reader.add(accounts.faults(in: client))
    try reader.finishProblem()
    let key = try IdempotencyKey.text(of: request)
    return .making(Problem.init(accounts:)) {
      let secret = Array(token.utf8)
      return try await enter(secret: secret, key, Array(request.head.path.utf8) + body, at: Self.session) {
        () throws(AccountsError) in
        guard let identities else { throw .invalidToken(IdentitySessions.noIssuers) }
        return try await accounts.prepareLogIn(identities.identity(of: token), client)
      }
    }
  }

  private func enter(
    secret: [UInt8],
    _ key: String?,
    _ request: [UInt8],
    at location: @escaping @Sendable (SignedIn) -> String,
    prepare: @Sendable () async throws(AccountsError) -> PreparedAccountsWrite<SignedIn>
  ) async throws -> Response {
    guard let key else { return Self.response(try await accounts.commit(prepare()), at: location) }
    return Response(
      try await ledger.enter(secret: secret, key: key, request: request, prepare: prepare) {
        StoredResponse(Self.response($0, at: location))
      }
    )
  }

  // MARK: Passwords

  private func enter(
    _ request: Request,
    _ body: [UInt8],
    _ reader: inout PayloadReader,
    _ entrance: Entrance
  ) throws -> HandlerResult {
    let key = try IdempotencyKey.text(of: request)
    let (email, password, device) = (reader.text("email"), reader.text("password"), reader.nullableText("device"))
    let credentials = Credentials(
      email: email ?? "",
      password: Password(password ?? ""),
      device: device,
      network: request.network
    )
    reader.add(entrance.faults(credentials))
    try reader.finishProblem()
    return .making(Problem.init(accounts:)) {
      try await enter(credentials, key, Array(request.head.path.utf8) + body, entrance)
    }
  }

  private func enter(
    _ credentials: Credentials,
    _ key: String?,
    _ request: [UInt8],
    _ entrance: Entrance
  ) async throws -> Response {
    guard let key else {
      return Self.response(try await accounts.commit(entrance.prepare(credentials)), at: entrance.location)
    }
    let keyed = try await ledger.enter(
      credentials,
      for: entrance.owner(credentials.network),
      key: key,
      request: request,
      prepare: { () throws(AccountsError) in try await entrance.prepare(credentials) },
      response: { StoredResponse(Self.response($0, at: entrance.location)) }
    )
    return Response(keyed)
  }

  private static func response(_ entered: SignedIn, at location: (SignedIn) -> String) -> Response {
    var response = Response.json(Session.signedInFormat.encode(entered), status: .created, cacheControl: "no-store")
    response.fields.append(.location, location(entered))
    return response
  }

  @Sendable private static func me(_: SignedIn) -> String { "/v1/me" }

  @Sendable private static func session(_ entered: SignedIn) -> String { "/v1/sessions/\(entered.session.id)" }
}

extension JSON {
  /// Reads the body of a request as JSON. The request must not be a patch.
  package init(readingBodyOf request: Request, _ body: [UInt8]) throws(Problem) {
    _ = try BodyType(of: request.head)
    try self.init(body: body)
  }
}
