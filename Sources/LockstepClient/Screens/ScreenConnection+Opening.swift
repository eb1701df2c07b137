import Foundation

/// The beginning and the end of the server's screen.
extension ScreenConnection {
  /// Opens a screen if none is open. Returns without one if the server refuses.
  func open(in began: Int) async throws {
    let token = try await token()
    // The screen of another session cannot be used.
    if let old = screen, let owner = old.token, owner != token {
      let user = await user(of: token)
      guard isCurrent(began) else { return }
      if token != nil, old.belongs(to: token, user) { forget(old) } else { hide() }
    }
    guard isCurrent(began) else { return }
    if screen == nil, try await !openNew(token, in: began) { return }
    try await performRestoration(in: began)
  }

  private func openNew(_ token: String?, in began: Int) async throws -> Bool {
    let key = openingKey ?? environment.client.newKey()
    openingKey = key
    var request = ClientRequest(
      method: "POST",
      target: place.target,
      fields: ["Idempotency-Key": key],
      body: place.body
    )
    request.fields["Accept-Language"] = Locale.preferredLanguages.prefix(5).joined(separator: ", ")
    if place.body != nil { request.fields["Content-Type"] = "application/json" }
    refusedToken = token
    // Actions that wait for the first screen belong to the session before.
    if let earlier = openingToken, earlier != token, lostScreen == nil { dropActions(keepsOthers: false) }
    openingToken = token
    let response = try await send(request, token)
    guard isCurrent(began) else { return false }
    guard response.status == 201 else {
      // With the same key, a later request could get the same response again.
      if response.problem != nil, !response.isRetried { openingKey = nil }
      noteFailure(response)
      return false
    }
    let opened = try decode(OpenedScreen<State>.self, response)
    openingKey = nil
    guard let opening = opened else { return false }
    let user = await user(of: token)
    guard isCurrent(began) else { return false }
    screen = Opened(href: opening.href, token: token, user: user, cursor: opening.cursor)
    openings += 1
    if let lost = lostScreen.take() {
      let restores = restore != nil && lost.belongs(to: token, user)
      dropActions(keepsOthers: restores)
      restoring = restores ? restoration(from: opening.state) : nil
    }
    if restoring == nil { show(opening.state, opening.cursor) }
    dispatch(.response)
    showStatus()
    return true
  }

  private func user(of token: String?) async -> String? {
    if let token { await environment.user(token) } else { nil }
  }

  /// Drops the actions of a lost screen. If `keepsOthers` is true, drops only those that it may have performed.
  private func dropActions(keepsOthers: Bool) {
    let (unknown, dropped) = queue.endScreen(keepsOthers: keepsOthers)
    outputs.fail(
      unknown,
      ClientFailure(.uncertain, "The screen has ended before it confirmed this action, which it may have performed.")
    )
    outputs.fail(dropped, ClientFailure(.notDone, "The screen has ended, so this action was not performed."))
  }

  // MARK: - Restoring

  /// The actions that bring a new screen to the last state of a lost one; nil if there are none.
  private func restoration(from new: State) -> ScreenQueue<Action>.Batch? {
    guard let actions = restore?(outputs.states.value, new), !actions.isEmpty else { return nil }
    do {
      let entries = try actions.map { try ScreenQueue.Entry($0) }
      return ScreenQueue.Batch(key: environment.client.newKey(), entries: entries)
    } catch {
      outputs.failures.dispatch(ScreenActionFailure(action: nil, failure: ClientFailure(.app, "\(error)")))
      return nil
    }
  }

  private func performRestoration(in began: Int) async throws {
    guard let batch = restoring, let open = screen else { return }
    let response = try await send(.actions(of: open.href, batch.step, key: batch.key), open.token)
    guard isCurrent(began) else { return }
    switch response.status {
    case 200:
      let document = try decode(ScreenDocument<State>.self, response)
      restoring = nil
      if let document { show(document.state, document.cursor) }
    case _ where response.problem == nil: noteFailure(response)
    case 404, 410: ended(ClientFailure(response))
    case 400, 403, 409, 412, 413, 422:
      if response["Retry-After"] != nil { return noteFailure(response) }
      restoring = nil
      outputs.failures.dispatch(ScreenActionFailure(action: nil, failure: ClientFailure(response)))
      // The polls show the state of the new screen.
      screen?.cursor = ""
    default: noteFailure(response)
    }
  }

  // MARK: - The end

  /// The server does not have the screen any more. The next connection opens another one.
  func ended(_ failure: ClientFailure) {
    guard let old = screen else { return }
    forget(old)
    guard !old.wasFound else {
      shortLives = 0
      return restart()
    }
    // A server that does not find the screens which it opens must not be asked without a pause.
    connection.attempt = shortLives
    shortLives += 1
    lost(failure)
  }

  private func forget(_ old: Opened) { (screen, restoring, lostScreen) = (nil, nil, old) }

  /// Forgets the screen after the user has logged out or another user has logged in. The view must
  /// not show the state of the former user, and no other screen gets the actions.
  func hide() {
    (screen, restoring, lostScreen) = (nil, nil, nil)
    dropActions(keepsOthers: false)
    outputs.hide()
  }

  /// Closes the screen, without waiting for it: if the server cannot be reached, the screen ends by itself.
  func close() {
    guard let open = screen else { return }
    screen = nil
    let (transport, request) = (environment.client.transport, Self.closing(open))
    // The task of this connection is cancelled.
    startInPlace { _ = try? await transport.response(to: request) }
  }

  private static func closing(_ open: Opened) -> ClientRequest {
    let fields = open.token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
    return ClientRequest(method: "DELETE", target: open.href, fields: fields, patience: .seconds(5))
  }
}

/// The response to the request that opens a screen.
private struct OpenedScreen<State: Decodable>: Decodable {
  let href: String
  let cursor: String
  let state: State
}

/// The response to any other request for a screen.
struct ScreenDocument<State: Decodable>: Decodable {
  let cursor: String
  let state: State
}

extension ClientResponse {
  /// Whether the same request is sent again, with the same key.
  fileprivate var isRetried: Bool { [408, 409, 425, 429].contains(status) || status >= 500 }
}

extension ClientRequest {
  /// A request that performs actions of a screen.
  static func actions(of href: String, _ body: [UInt8], key: String) -> ClientRequest {
    let fields = ["Content-Type": "application/json", "Idempotency-Key": key]
    return ClientRequest(method: "POST", target: "\(href)/actions", fields: fields, body: body)
  }
}
