import HTTP
import JSON

/// `/v1/users`, `/v1/sessions` and `/v1/me`: coming in, the devices, and leaving.
struct AccountsRoutes: Sendable {
  let accounts: any AccountsService
  let gate: SessionGate
  let export: UserExport
  /// Told of a user who is gone.
  let forget: @Sendable (UserID) -> Void

  var routes: [Route] { entrances + devices + user }

  private var entrances: [Route] {
    [
      Route(.post, "/v1/users", summary: "Makes an account and logs this device in.") { request in
        try entering(request, check: accounts.signUpFaults(in:)) { credentials throws(AccountsError) in
          try await accounts.signUp(credentials)
        }
      },
      Route(.post, "/v1/sessions", summary: "Logs this device in.") { request in
        try entering(request, check: accounts.logInFaults(in:)) { credentials throws(AccountsError) in
          try await accounts.logIn(credentials)
        }
      },
    ]
  }

  private var devices: [Route] {
    [
      Route(.get, "/v1/sessions", summary: "The devices that are logged in.") { request in
        try reading(request) { session in try await sessions(of: session) }
      },
      Route(.delete, "/v1/sessions/{id}", summary: "Logs a device out: its token stops working at once.") { request in
        try gate.answer(request) { session in .later { try await revoke(request.parameters["id"] ?? "", by: session) } }
      },
    ]
  }

  private var user: [Route] {
    [
      Route(.get, "/v1/me", summary: "Who is logged in.") { request in
        try reading(request) { session in try await me(session) }
      },
      Route(.put, "/v1/me/password", summary: "Changes the password; every other session ends.") { request in
        try gate.answer(request) { session in try changePassword(request, session) }
      },
      Route(.get, "/v1/me/export", summary: "All that is stored about the user, as one document.") { request in
        try reading(request) { session in try await export.document(of: session.user) }
      },
      Route(.delete, "/v1/me", summary: "Erases the user and all that is theirs.") { request in
        try gate.answer(request) { session in try erase(request, session) }
      },
    ]
  }

  /// Answers with a document about the user, unless the client has it already.
  private func reading(
    _ request: Request,
    _ document: @escaping @Sendable (LiveSession) async throws -> JSON
  ) throws -> Answer {
    try gate.answer(request) { session in
      let preconditions = try Preconditions(of: request.head)
      return .later { .privately(try await document(session), preconditions) }
    }
  }

  // MARK: Coming in

  private func entering(
    _ request: Request,
    check: @escaping @Sendable (Credentials) -> [FieldFault],
    _ enter: @escaping @Sendable (Credentials) async throws(AccountsError) -> SignedIn
  ) throws -> Answer {
    try request.withBody { body in
      var reader = PayloadReader(try Self.json(request, body))
      let (email, password, device) = (reader.text("email"), reader.text("password"), reader.nullableText("device"))
      let credentials = Credentials(
        email: email ?? "",
        password: Password(password ?? ""),
        device: device,
        network: ClientNetwork(host: request.peer.host)
      )
      reader.add(check(credentials))
      try reader.finishProblem()
      return .later {
        do throws(AccountsError) {
          return Self.response(try await enter(credentials))
        } catch {
          throw Problem(error)
        }
      }
    }
  }

  private static func response(_ entered: SignedIn) -> Response {
    let document: JSON = [
      "user": json(entered.user),
      "token": .string(entered.token.text),
      "expiresAt": .string(entered.session.expiresAt.description),
      "session": [
        "id": .string(entered.session.id.description),
        "device": entered.session.device.map(JSON.string) ?? .null,
        "createdAt": .string(entered.session.createdAt.description),
      ],
    ]
    return .json(document, status: .created, cacheControl: "no-store")
  }

  private static func json(_ user: User) -> JSON {
    [
      "id": .string(user.id.description), "email": .string(user.email),
      "createdAt": .string(user.createdAt.description),
    ]
  }

  // MARK: Devices

  private func sessions(of current: LiveSession) async throws -> JSON {
    do throws(AccountsError) {
      let items = try await accounts.sessions(of: current.user).map { Self.json($0, current: current.id) }
      return ["items": .array(items)]
    } catch {
      throw Problem(error)
    }
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

  private func revoke(_ text: String, by current: LiveSession) async throws -> Response {
    guard let id = SessionID(text, current: current.id) else { throw Problem(AccountsError.noSuchSession) }
    do throws(AccountsError) {
      try await accounts.revoke(id, of: current.user)
    } catch {
      throw Problem(error)
    }
    return .done
  }

  // MARK: The user

  private func me(_ session: LiveSession) async throws -> JSON {
    do throws(AccountsError) {
      guard let user = try await accounts.user(session.user) else { throw AccountsError.sessionEnded }
      return Self.json(user)
    } catch {
      throw Problem(error)
    }
  }

  private func changePassword(_ request: Request, _ session: LiveSession) throws -> Answer {
    try request.withBody { body in
      var reader = PayloadReader(try Self.json(request, body))
      let (current, new) = (reader.text("current"), reader.text("new"))
      let passwords = (current: Password(current ?? ""), new: Password(new ?? ""))
      reader.add(accounts.faults(inNew: passwords.new))
      try reader.finishProblem()
      return .later {
        do throws(AccountsError) {
          try await accounts.changePassword(from: passwords.current, to: passwords.new, in: session)
        } catch {
          throw Problem(error)
        }
        return .done
      }
    }
  }

  private func erase(_ request: Request, _ session: LiveSession) throws -> Answer {
    try request.withBody { body in
      var reader = PayloadReader(try Self.json(request, body))
      let text = reader.text("password")
      try reader.finishProblem()
      let password = Password(text ?? "")
      return .later {
        do throws(AccountsError) {
          try await accounts.erase(confirmedBy: password, in: session)
        } catch {
          throw Problem(error)
        }
        forget(session.user)
        return .done
      }
    }
  }

  private static func json(_ request: Request, _ body: [UInt8]) throws(Problem) -> JSON {
    _ = try BodyType(of: request.head)
    return try JSON(body: body)
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
    if let cursor = document["cursor"]?.stringValue { fields.append(.cursor, cursor) }
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

extension Problem {
  /// What a client is told of an error with accounts.
  init(_ error: AccountsError) {
    let detail = error.description
    switch error {
    case .invalid(let faults):
      self.init(.validationFailed, errors: faults.map { Fault(pointer: $0.pointer, detail: $0.detail) })
    case .addressTaken: self.init(.conflict, detail: detail)
    // The token is good, so it isn't 401: a client would throw it away.
    case .registrationClosed, .disabled, .wrongPassword: self.init(.forbidden, detail: detail)
    case .wrongCredentials:
      self.init(.unauthorized, detail: detail)
      fields.append(.wwwAuthenticate, "Bearer")
    case .sessionEnded: self = SessionGate.unauthorized(true)
    case .noSuchSession: self.init(.notFound, detail: detail)
    case .tooManyAttempts(let seconds):
      self.init(.tooManyRequests, detail: detail)
      fields.append(.retryAfter, "\(seconds)")
    case .overloaded, .outOfMemory: self = .overloaded(detail)
    case .store: self = .overloaded("The store can't be used at the moment. The server's log has the reason.")
    }
  }
}
