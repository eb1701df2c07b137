import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepReactor
import LockstepScreens
import LockstepSync

/// `/v1/reactors`: opens, reads, waits for and closes screens, and performs their actions.
package struct ScreenRoutes: Sendable {
  /// The largest body, in bytes. An action carries at most a line of typed text.
  static let bodyLimit = 64 * 1024
  static let maximumActions = 500

  private let kinds: [String: ScreenKind]
  private let catalogue: JSON
  private let directory: ScreenDirectory
  private let authenticator: TokenAuthenticator
  /// The longest wait, in seconds.
  private let longestWait: Int
  private let monotonic: @Sendable () -> Int64

  package init(
    kinds: [ScreenKind],
    catalogue: JSON,
    directory: ScreenDirectory,
    authenticator: TokenAuthenticator,
    longestWait: Int,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.kinds = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in first }
    self.catalogue = catalogue
    self.directory = directory
    self.authenticator = authenticator
    self.longestWait = longestWait
    self.monotonic = monotonic
  }

  package var routes: [Route] {
    let catalogue = PreparedDocument(catalogue)
    let describedAs = ScreenDescriptions(kinds: kinds.values.sorted { $0.name < $1.name })
    return [
      Route(.get, "/v1/reactors", summary: "All reactors: their actions and states.") { request in
        try catalogue.answer(to: request)
      }
      .described(ScreenDescriptions.catalogue),
      Route(.post, "/v1/reactors/{name}", summary: "Opens a screen.", bodyLimit: Self.bodyLimit, handler: open)
        .described(describedAs.open),
      Route(.get, "/v1/reactors/{name}/{id}", summary: "A screen's state; waits for a change.", handler: read)
        .described(describedAs.read),
      Route(
        .post,
        "/v1/reactors/{name}/{id}/actions",
        summary: "Performs one action, or several in order: all or none.",
        bodyLimit: Self.bodyLimit,
        handler: act
      )
      .described(describedAs.act),
      Route(.delete, "/v1/reactors/{name}/{id}", summary: "Closes a screen.", handler: close)
        .described(describedAs.close),
    ]
  }

  // MARK: Access

  /// Finds the kind of screen that a request names and, if the kind needs one, the session.
  private func admitted(
    _ request: Request,
    _ answer: @escaping @Sendable (ScreenKind, LiveSession?) throws -> HandlerResult
  ) throws -> HandlerResult {
    let name = request.parameters["name"] ?? ""
    guard let kind = kinds[name] else {
      throw Problem(.notFound, detail: "There is no screen “\(name)”. GET /v1/reactors lists those there are.")
    }
    guard kind.needsSession else { return try answer(kind, nil) }
    return try authenticator.answer(request) { try answer(kind, $0) }
  }

  /// Finds the open screen that a request names.
  private func found(
    _ request: Request,
    _ answer: @escaping @Sendable (Screen) throws -> HandlerResult
  ) throws -> HandlerResult {
    try admitted(request) { kind, session in
      try answer(try find(request.parameters["id"] ?? "", kind, session))
    }
  }

  private func find(_ id: String, _ kind: ScreenKind, _ session: LiveSession?) throws(Problem) -> Screen {
    guard let screen = directory.find(id, kind: kind.name, of: session) else { throw .noSuchScreen }
    return screen
  }

  /// The owner of idempotency keys for a screen.
  private func owner(_ id: String, _ session: LiveSession?) -> ScreenIdempotency.Owner {
    session.map { .session($0.id) } ?? .screen(id)
  }

  // MARK: Opening and closing

  private func open(_ request: Request) throws -> HandlerResult {
    try admitted(request) { kind, session in
      try request.withBody { body in
        let arguments = try arguments(of: request, body)
        // The response contains the screen's id, which gives access. Without a session it is never
        // repeated.
        let owner = session.map { ScreenIdempotency.Owner.session($0.id) }
        return try directory.responses.once(request, body, of: owner, at: monotonic()) {
          do {
            return opened(try await directory.open(kind, for: session, arguments: .object(arguments)))
          } catch {
            throw Problem(opening: error) ?? error
          }
        }
      }
    }
  }

  /// The arguments in the body and in the query. Links have them in the query.
  private func arguments(of request: Request, _ body: [UInt8]) throws(Problem) -> JSONObject {
    var arguments = JSONObject()
    if !body.isEmpty {
      let json = try JSON(readingBodyOf: request, body)
      guard let object = json.objectValue else { throw Problem.notAnObject(json) }
      var reader = PayloadReader(json)
      reader.passOver("arguments")
      try reader.finishProblem()
      if let given = object["arguments"], !given.isNull {
        guard let members = given.objectValue else {
          let detail = "It must be an object, and is \(given.typeName)."
          throw Problem(.validationFailed, errors: [.init(pointer: "/arguments", detail: detail)])
        }
        arguments = members
      }
    }
    for (name, value) in try request.query.all { arguments[name] = .string(value) }
    return arguments
  }

  private func opened(_ screen: Screen) -> Response {
    let shown = screen.engine.shown
    let href = "/v1/reactors/\(screen.kind)/\(screen.id)"
    let cursor = screen.cursor(shown.number)
    var body = Array(
      #"{"id":"\#(screen.id)","name":"\#(screen.kind)","cursor":"\#(cursor)","href":"\#(href)","state":"#.utf8
    )
    body += shown.encoded
    body.append(UInt8(ascii: "}"))
    var fields = Representation.validatorFields(ofTag: cursor)
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: .forBrowsers)
    fields.append(.location, href)
    return Response(status: .created, fields: fields, body: .bytes(body))
  }

  private func close(_ request: Request) throws -> HandlerResult {
    try admitted(request) { kind, session in
      let preconditions = try Preconditions(of: request.head)
      let id = request.parameters["id"] ?? ""
      // The key is looked up first: a repeated request must not fail because the screen is closed.
      return try directory.responses.once(request, [], of: owner(id, session), at: monotonic()) {
        let screen = try find(id, kind, session)
        guard preconditions.allowsWrite(to: screen.cursor(screen.engine.number)) else {
          throw Problem(changed: screen)
        }
        directory.end(screen, .closed)
        var fields = HeaderFields()
        fields.append(.cacheControl, "no-store")
        return Response(status: .noContent, fields: fields)
      }
    }
  }

  // MARK: Reading

  private func read(_ request: Request) throws -> HandlerResult {
    try found(request) { screen in
      let (query, preconditions) = (try request.query, try Preconditions(of: request.head))
      if request.head.wantsEventStream {
        return .eventStream(ChangesEvents.response, try events(request, screen))
      }
      let wait = try WaitPreference(of: request, query, upTo: longestWait)
      guard let wait, preconditions.ifNoneMatch != nil else { return .response(screen.response(preconditions)) }
      let watcher = try watch(screen)
      let poll = LongPoll(deadline: wait.deadline(for: request), watcher) { poll, isLast in
        if let problem = watcher.problem { throw problem }
        if !isLast, preconditions.isFresh(screen.cursor(watcher.look().number)) { return .parked(poll) }
        return .response(screen.response(preconditions).waited(wait))
      }
      return poll.resume(wait.seconds == 0 ? .timeOver : .woken)
    }
  }

  private func events(_ request: Request, _ screen: Screen) throws(Problem) -> ScreenEvents {
    ScreenEvents(try watch(screen), sent: request.head[.lastEventID].map(Cursor.plainTag), monotonic: monotonic)
  }

  private func watch(_ screen: Screen) throws(Problem) -> ScreenWatcher {
    guard let seat = directory.waiters.seat(for: screen.id) else {
      var problem = Problem(.tooManyRequests, detail: "Too many requests wait for this screen already.")
      problem.fields.append(.retryAfter, "1")
      throw problem
    }
    return ScreenWatcher(screen, seat: seat, monotonic: monotonic)
  }

  // MARK: Acting

  private func act(_ request: Request) throws -> HandlerResult {
    try found(request) { screen in
      let preconditions = try Preconditions(of: request.head)
      return try request.withBody { body in
        let json = try JSON(readingBodyOf: request, body)
        let actions = json.arrayValue ?? [json]
        guard (1...Self.maximumActions).contains(actions.count) else {
          let detail = "It must be an action, or an array of 1 to \(Self.maximumActions) of them."
          throw Problem(.validationFailed, errors: [.init(pointer: "", detail: detail)])
        }
        let network = ClientNetwork(host: request.peer.host)
        let owner = owner(screen.id, screen.session)
        return try directory.responses.once(request, body, of: owner, at: monotonic()) {
          do {
            try await screen.engine.act(actions, from: network) { preconditions.allowsWrite(to: screen.cursor($0)) }
          } catch {
            throw Problem(acting: error, on: screen, isArray: json.arrayValue != nil) ?? error
          }
          return screen.response()
        }
      }
    }
  }
}

extension Screen {
  /// The response with the current state, or 304 if the client has it.
  func response(_ preconditions: Preconditions? = nil) -> Response {
    let seen = cursor(engine.number)
    if preconditions?.isFresh(seen) == true {
      return Response(status: .notModified, fields: Representation.validatorFields(ofTag: seen))
    }
    let shown = engine.shown
    var fields = Representation.validatorFields(ofTag: cursor(shown.number))
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: .forBrowsers)
    return Response(status: .ok, fields: fields, body: .bytes(document(shown)))
  }

  /// The body with a state.
  func document(_ shown: EncodedState) -> [UInt8] {
    Array(#"{"cursor":"\#(cursor(shown.number))","state":"#.utf8) + shown.encoded + "}".utf8
  }
}
