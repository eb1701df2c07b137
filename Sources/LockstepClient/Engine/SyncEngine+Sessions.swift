import LockstepJSON

/// Logins, and the token of each request.
extension SyncEngine {
  /// Begins a session: `path` is that of a login or of a sign-up.
  func enter(_ path: String, _ credentials: JSON) async throws {
    let response = try await environment.transport.response(
      to: ClientRequest(
        method: "POST",
        target: path,
        fields: ["Content-Type": "application/json", "Idempotency-Key": environment.newKey()],
        body: credentials.encoded()
      )
    )
    let body = try? JSON(parsing: response.body)
    guard response.status == 201, let token = body?["token"]?.stringValue, let id = body?["user"]?["id"]?.stringValue
    else { throw ClientFailure(response) }
    try await environment.credentials.save(token)
    try become(id, with: token)
    dispatch(.login)
  }

  /// Ends the session. Forgets the copy and the outbox, unless `keepsCopy` is true.
  func leave(keepsCopy: Bool) async throws {
    let token = try await environment.credentials.token()
    try await environment.credentials.save(nil)
    checkedToken = nil
    if !keepsCopy { try forgetUser() }
    dispatch(.unauthorized(ClientFailure("The user has logged out.")))
    guard let token else { return }
    // Without a network, the session stays until it expires.
    let fields = ["Authorization": "Bearer \(token)"]
    _ = try? await environment.transport.response(
      to: ClientRequest(method: "DELETE", target: "/v1/sessions/current", fields: fields)
    )
  }

  /// The state of another user must not be shown, and the writes of another user must not be sent.
  private func become(_ id: String, with token: String) throws {
    if let user, user != id { try forgetUser() }
    try noteLogin(of: id)
    checkedToken = token
  }

  /// Other processes learn that there is a new token.
  private func noteLogin(of id: String?) throws {
    try update { StoreChange(owner: StoreOwner(user: id, followed: followed, logins: logins + 1)) }
    user = id
    logins += 1
  }

  /// Takes a token of a session that was opened elsewhere.
  func adopt(_ token: String) async throws {
    try await environment.credentials.save(token)
    checkedToken = nil
    try noteLogin(of: user)
    // The next request asks for the user of the token.
    dispatch(.login)
  }

  func forgetUser() throws {
    try update {
      var change = StoreChange(position: .some(nil), owner: StoreOwner(user: nil, followed: followed, logins: logins))
      for name in copy.state.collections.keys { change.collections[name] = .some(nil) }
      for entry in outbox.entries + outbox.refused { change.writes[entry.number] = .some(nil) }
      return change
    }
    for entry in outbox.entries + outbox.refused { outbox.remove(entry.number) }
    (copy, user) = (ClientCopy(), nil)
    settleAll(ClientFailure("The user has logged out."))
    rebuild(.local)
  }

  /// Sends a request with the token, in the connection `began`.
  func send(_ request: ClientRequest, in began: Int) async throws -> ClientResponse {
    let found = try await authorized(request, in: began)
    guard let request = found.request else { return found.response }
    return try await environment.transport.response(to: request)
  }

  /// A request with the token, or the response that refuses the token. Nothing is sent for another user than the
  /// one for whom the request was made: if the token belongs to another one, the connection begins again.
  func authorized(
    _ request: ClientRequest,
    in began: Int
  ) async throws -> (request: ClientRequest?, response: ClientResponse) {
    let unknown = ClientResponse(status: 401)
    guard let token = try await environment.credentials.token() else { return (nil, unknown) }
    if token != checkedToken {
      let fields = ["Authorization": "Bearer \(token)"]
      let response = try await environment.transport.response(to: ClientRequest(target: "/v1/me", fields: fields))
      guard response.status == 200, let id = (try? JSON(parsing: response.body))?["id"]?.stringValue else {
        return (nil, response)
      }
      guard epoch.value == began else { throw CancellationError() }
      let isOther = user != nil && user != id
      if user == id { checkedToken = token } else { try become(id, with: token) }
      if isOther { dispatch(.login) }
    }
    guard epoch.value == began else { throw CancellationError() }
    var request = request
    request.fields["Authorization"] = "Bearer \(token)"
    return (request, unknown)
  }
}
