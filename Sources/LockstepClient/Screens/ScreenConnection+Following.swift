import LockstepJSON

/// The polls, and the requests with actions.
extension ScreenConnection {
  func send(_ request: ClientRequest, _ token: String?) async throws -> ClientResponse {
    var request = request
    if let token { request.fields["Authorization"] = "Bearer \(token)" }
    return try await environment.client.transport.response(to: request)
  }

  func follow(in began: Int) async {
    while isCurrent(began), let open = screen {
      do {
        try await pollOnce(open, in: began)
      } catch {
        return noteError(error, in: began)
      }
    }
  }

  private func pollOnce(_ open: Opened, in began: Int) async throws {
    let (shownBefore, sentAt) = (shownResponses, now)
    // After a failure, the first request does not wait, so that its response shows soon that the server is back.
    let waits = connection.phase == .live
    var request = ClientRequest(
      target: open.href + (waits ? "?wait=30" : ""),
      fields: ["Accept": "application/json"],
      patience: .seconds(45)
    )
    if !open.cursor.isEmpty { request.fields["If-None-Match"] = "\"\(open.cursor)\"" }
    let response = try await send(request, open.token)
    guard isCurrent(began) else { return }
    switch response.status {
    case 200:
      let document = try decode(ScreenDocument<State>.self, response)
      noteSuccess()
      guard let document else { return }
      if shownResponses == shownBefore { show(document.state, document.cursor) }
    case 304: noteSuccess()
    case _ where response.problem == nil: return noteFailure(response)
    case 404, 410: return ended(ClientFailure(response))
    default: return noteFailure(response)
    }
    // See `SyncEngine.pollOnce`.
    let isEarly = waits && response.status == 304 && now.milliseconds(since: sentAt) < 15_000
    let pause = isEarly ? Int64(environment.client.random() * 1_000) : 0
    try await environment.client.clock.sleep(for: .milliseconds(max(SyncEngine.shortestPause, pause)))
    // A login on this device ends the screen of the session before.
    if let owner = open.token, try await token() != owner, isCurrent(began) { restart() }
  }

  func sendAll(in began: Int) async {
    for await _ in queue.changes.values {
      while isCurrent(began), screen != nil, let batch = queue.next(key: environment.client.newKey()) {
        do {
          try await sendOnce(batch, in: began)
        } catch {
          return noteError(error, in: began)
        }
      }
      if !isCurrent(began) { return }
    }
  }

  private func sendOnce(_ batch: ScreenQueue<Action>.Batch, in began: Int) async throws {
    guard let open = screen else { return }
    let shownBefore = shownResponses
    // An action must not reach the screen of another user.
    if let owner = open.token, try await token() != owner {
      if isCurrent(began) { restart() }
      return
    }
    guard isCurrent(began) else { return }
    queue.mark(isUncertain: true)
    let response = try await send(.actions(of: open.href, batch.body, key: batch.key), open.token)
    guard isCurrent(began) else { return }
    switch response.status {
    case 200:
      let document = try decode(ScreenDocument<State>.self, response)
      queue.settle()
      noteSuccess()
      guard let document else { return }
      if shownResponses == shownBefore { show(document.state, document.cursor) }
    case _ where response.problem == nil: noteFailure(response)
    case 404, 410:
      queue.mark(isUncertain: batch.isUncertain)
      ended(ClientFailure(response))
    case 409 where response["Retry-After"] != nil: noteFailure(response)
    case 400, 403, 409, 412, 413, 415, 422:
      noteSuccess()
      if batch.entries.count > 1 { return queue.split() }
      queue.settle()
      outputs.fail(batch.actions, ClientFailure(response))
    default: noteFailure(response)
    }
  }

  /// The server has the screen, and responds.
  private func noteSuccess() {
    screen?.wasFound = true
    dispatch(.response)
  }

  // MARK: - States

  func show(_ state: State, _ cursor: String) {
    shownResponses += 1
    screen?.cursor = cursor
    outputs.show(state, of: openings)
  }

  /// Reads a response. If its state does not have the expected form, the connection fails, and the
  /// method returns nil. Throws if the response is not from a Lockstep server.
  func decode<Document: Decodable>(_ type: Document.Type, _ response: ClientResponse) throws -> Document? {
    let json = try? JSON(parsing: response.body)
    do {
      return try ElementCoding.decode(type, from: json ?? .null)
    } catch {
      guard json?["cursor"]?.stringValue != nil else {
        throw ClientFailure(.unreachable, "The server is not a Lockstep server: its response has no cursor.")
      }
      dispatch(
        .refused(
          ClientFailure(
            .otherVersion,
            "The screen's state does not have the form that the app expects: \(error)"
          )
        )
      )
      return nil
    }
  }
}
