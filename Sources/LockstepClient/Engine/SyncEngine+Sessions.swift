import Foundation
import LockstepJSON

/// Logins, and the token of each request.
extension SyncEngine {
  /// Opens a session. `path` is the path of logins or of sign-ups.
  func enter(_ path: String, _ credentials: JSON) async throws {
    let fields = ["Content-Type": "application/json", "Idempotency-Key": environment.newKey()]
    let request = ClientRequest(method: "POST", target: path, fields: fields, body: credentials.encoded())
    let response = try await response(to: request)
    guard response.status == 201 else { throw ClientFailure(response) }
    let body = try? JSON(parsing: response.body)
    guard let token = body?["token"]?.stringValue, let id = body?["user"]?["id"]?.stringValue else {
      // Without the response, which may contain a token.
      throw ClientFailure(
        .unreachable,
        "The server is not a Lockstep server: its response to a login has no token or no user."
      )
    }
    try await environment.credentials.save(token)
    try become(id, with: token)
    beginAgain(after: .login)
  }

  /// Gives the user who is logged in credentials.
  func setCredentials(_ credentials: JSON) async throws {
    let response = try await change("PUT", "/v1/me/credentials", credentials, token: ownToken(), expecting: 200)
    // A proxy may respond with the status 200 too.
    guard (try? JSON(parsing: response.body))?["id"]?.stringValue != nil else { throw ClientFailure(response) }
  }

  func requestPasswordReset(_ body: JSON) async throws {
    try await change("POST", "/v1/password-resets", body, token: nil, expecting: 202)
  }

  func requestEmailProof(_ credentials: JSON) async throws {
    try await change("PUT", "/v1/me/email", credentials, token: ownToken(), expecting: 202)
  }

  private func ownToken() async throws -> String {
    guard let token = try await environment.token() else {
      throw ClientFailure(.notLoggedIn, "No user is logged in.")
    }
    return token
  }

  /// Sends a change of an account. The languages are those of a mail.
  @discardableResult
  private func change(
    _ method: String,
    _ path: String,
    _ body: JSON,
    token: String?,
    expecting status: Int
  ) async throws -> ClientResponse {
    var fields = ["Content-Type": "application/json", "Idempotency-Key": environment.newKey()]
    fields["Authorization"] = token.map { "Bearer \($0)" }
    fields["Accept-Language"] = Locale.preferredLanguages.prefix(5).joined(separator: ", ")
    let request = ClientRequest(method: method, target: path, fields: fields, body: body.encoded())
    let response = try await response(to: request)
    guard response.status == status else { throw ClientFailure(response) }
    return response
  }

  /// Ends the session. Forgets the copy and the outbox, unless `keepsCopy` is true.
  func leave(keepsCopy: Bool) async throws {
    let token = try await environment.token()
    try await environment.credentials.save(nil)
    checkedToken = nil
    var failure: (any Error)?
    do { try logOut(keepsCopy: keepsCopy) } catch { failure = error }
    beginAgain(after: .unauthorized(.loggedOut))
    // The session ends even if the file cannot be written, because a second logout would not know the token.
    if let token { await endSession(token) }
    if let failure { throw failure }
  }

  private func endSession(_ token: String) async {
    // The app waits for the response, but not for long. Without a response, the session stays valid
    // until it expires.
    let fields = ["Authorization": "Bearer \(token)"]
    let target = "/v1/sessions/current"
    _ = try? await environment.transport.response(
      to: ClientRequest(method: "DELETE", target: target, fields: fields, patience: .seconds(5))
    )
  }

  /// Takes a token of a session that was opened elsewhere. Asks the server for the user of the
  /// token first, because the copy may be that of another user.
  func adopt(_ token: String) async throws {
    let fields = ["Authorization": "Bearer \(token)"]
    let response = try await response(to: ClientRequest(target: "/v1/me", fields: fields))
    guard response.status == 200, let id = (try? JSON(parsing: response.body))?["id"]?.stringValue else {
      throw ClientFailure(response)
    }
    try await environment.credentials.save(token)
    try become(id, with: token)
    beginAgain(after: .login)
  }

  /// Sends a request for a call of the app. Any error but a cancellation becomes a `ClientFailure`.
  private func response(to request: ClientRequest) async throws -> ClientResponse {
    do { return try await environment.transport.response(to: request) } catch {
      throw error is CancellationError ? error : ClientFailure(of: error)
    }
  }

  /// Begins a new epoch, even if the client does not run, so that remote screens begin again too.
  private func beginAgain(after event: ConnectionEvent) {
    let before = epoch.value
    dispatch(event)
    if epoch.value == before { epoch.publish(before + 1) }
  }

  private func logOut(keepsCopy: Bool) throws {
    try changeOwner(forgetting: { _ in !keepsCopy }) { owner in
      owner.isLoggedOut = true
      if !keepsCopy { owner.user = nil }
    }
  }

  /// The state of another user must not be shown, and the writes of another user must not be sent.
  private func become(_ id: String, with token: String) throws {
    try changeOwner(forgetting: { $0 != nil && $0 != id }) { owner in
      (owner.user, owner.isLoggedOut) = (id, false)
    }
    checkedToken = token
  }

  /// Changes the owner of the file in one transaction, on top of what other processes have changed.
  /// If `forgetting` returns true for the present user, the copy and all writes are deleted.
  private func changeOwner(
    forgetting forgets: (_ present: String?) -> Bool = { _ in false },
    _ body: (inout StoreOwner) -> Void
  ) throws {
    var (changed, isForgotten) = (owner, false)
    try update {
      changed = owner
      isForgotten = forgets(owner.user)
      body(&changed)
      // Other processes notice the login or logout by this number.
      changed.logins += 1
      var change = StoreChange(owner: changed)
      guard isForgotten else { return change }
      change.position = .some(nil)
      for name in copy.state.collections.keys { change.collections[name] = .some(nil) }
      for entry in outbox.entries + outbox.refused { change.writes[entry.number] = .some(nil) }
      return change
    }
    owner = changed
    guard isForgotten else { return }
    for entry in outbox.entries + outbox.refused { outbox.remove(entry.number) }
    copy = ClientCopy()
    settleAll(.deleted)
    rebuild(.local)
  }

  /// Sends a request with the token, in the connection `began`.
  func send(_ request: ClientRequest, in began: Int) async throws -> ClientResponse {
    let found = try await authorized(request, in: began)
    guard let request = found.request else { return found.response }
    return try await environment.transport.response(to: request)
  }

  /// Returns the request with the token, or the response that refuses the token. If the token
  /// belongs to another user than the owner of the file, the connection begins again, so the client
  /// never sends this request for that user.
  func authorized(
    _ request: ClientRequest,
    in began: Int
  ) async throws -> (request: ClientRequest?, response: ClientResponse) {
    let problem: JSON = [
      "type": "/problems/unauthorized", "title": .string(ClientFailure.Title.notLoggedIn.rawValue), "status": 401,
      "detail": "There is no token: log in.",
    ]
    let unknown = ClientResponse(status: 401, body: problem.encoded())
    guard let token = try await environment.token() else {
      refusedToken = nil
      return (nil, unknown)
    }
    refusedToken = token
    if token != checkedToken {
      let fields = ["Authorization": "Bearer \(token)"]
      let response = try await environment.transport.response(to: ClientRequest(target: "/v1/me", fields: fields))
      guard epoch.value == began else { throw CancellationError() }
      if response.status == 401, response.problem != nil { return (nil, response) }
      guard response.status == 200, let id = (try? JSON(parsing: response.body))?["id"]?.stringValue else {
        throw ClientFailure(response)
      }
      let isOther = owner.user != nil && owner.user != id
      if owner.user == id, !owner.isLoggedOut { checkedToken = token } else { try become(id, with: token) }
      if isOther { dispatch(.login) }
    }
    guard epoch.value == began else { throw CancellationError() }
    var request = request
    request.fields["Authorization"] = "Bearer \(token)"
    return (request, unknown)
  }
}

extension SyncEngine.Environment {
  /// The token of the session. An error of the credentials becomes a `ClientFailure`.
  func token() async throws -> String? {
    do { return try await credentials.token() } catch {
      if error is CancellationError || error is ClientFailure { throw error }
      throw ClientFailure(.credentials, "The token cannot be read: \(error)")
    }
  }
}
