import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepReactor
import LockstepScreens
import LockstepStore
import LockstepSync

/// `/v1/reactors`: opens, reads, waits for and closes screens, and performs their actions.
package struct ScreenRoutes: Sendable {
  /// The largest body, in bytes. Actions of screens are short, such as a line of typed text.
  static let bodyLimit = 64 * 1024
  static let maximumActions = 500

  private let kinds: [ExactText: ScreenDeclaration]
  private let catalogue: ModuleDocument
  private let directory: ScreenDirectory
  private let authenticator: TokenAuthenticator
  private let bodies: BodyDecoder
  /// The longest wait, in seconds.
  private let longestWait: Int
  private let monotonic: @Sendable () -> Int64
  /// See `Watcher.lease`.
  private let lease: NodeLease?
  /// Nil: there are no other nodes.
  private let forwarder: ScreenForwarder?

  package init(
    kinds: [ScreenDeclaration],
    catalogue: ModuleDocument,
    directory: ScreenDirectory,
    authenticator: TokenAuthenticator,
    bodies: BodyDecoder,
    longestWait: Int,
    monotonic: @escaping @Sendable () -> Int64,
    lease: NodeLease? = nil,
    forwarder: ScreenForwarder? = nil
  ) {
    self.kinds = Dictionary(kinds.map { ($0.name.exact, $0) }) { first, _ in first }
    self.catalogue = catalogue
    self.directory = directory
    self.authenticator = authenticator
    self.bodies = bodies
    self.longestWait = longestWait
    self.monotonic = monotonic
    self.lease = lease
    self.forwarder = forwarder
  }

  package var routes: [Route] {
    let describedAs = ScreenDescriptions(kinds: kinds.values.sorted { $0.name < $1.name })
    return [
      Route(.get, "/v1/reactors", summary: "All reactors: their actions and states.") { request in
        try catalogue.document.respond(to: request)
      }
      .described(ScreenDescriptions.catalogue),
      Route(.post, "/v1/reactors/{name}", summary: "Opens a screen.", bodyLimit: Self.bodyLimit, handler: open)
        .described(describedAs.open),
      Route(.get, "/v1/reactors/{name}/{id}", summary: "A screen's state; can wait for a change.", handler: read)
        .described(describedAs.read).forwarding(by: forwarder),
      Route(
        .post,
        "/v1/reactors/{name}/{id}/actions",
        summary: "Performs one action, or several in order: all or none.",
        bodyLimit: Self.bodyLimit,
        handler: act
      )
      .described(describedAs.act).forwarding(by: forwarder),
      Route(.delete, "/v1/reactors/{name}/{id}", summary: "Closes a screen.", handler: close)
        .described(describedAs.close).forwarding(by: forwarder),
    ]
  }

  // MARK: Access

  /// Finds the kind of screen that a request names, and the session if the kind needs one.
  private func admitted(
    _ request: Request,
    _ respond: @escaping @Sendable (ScreenDeclaration, LiveSession?) throws -> HandlerResult
  ) throws -> HandlerResult {
    let name = request.parameters["name"] ?? ""
    guard let kind = kinds[name.exact] else {
      throw Problem(.notFound, detail: "There is no screen “\(name)”. GET /v1/reactors lists all screens.")
    }
    guard kind.needsSession else { return try respond(kind, nil) }
    return try authenticator.respond(to: request) { try respond(kind, $0) }
  }

  private func found(
    _ request: Request,
    _ respond: @escaping @Sendable (Screen) throws -> HandlerResult
  ) throws -> HandlerResult {
    try admitted(request) { try respond(try find(request.parameters["id"] ?? "", $0, $1)) }
  }

  private func find(_ id: String, _ kind: ScreenDeclaration, _ session: LiveSession?) throws(Problem) -> Screen {
    guard let screen = directory.find(id, kind: kind.name, of: session) else { throw .noSuchScreen }
    return screen
  }

  // MARK: Opening and closing

  private func open(_ request: Request) throws -> HandlerResult {
    try admitted(request) { kind, session in
      try request.withBody { body in
        try bodies.decode(body, for: session?.user, from: request.network.hashValue) { _ in
          ScreenOpening(
            session: session,
            network: request.network,
            arguments: .object(try arguments(of: request, body)),
            languages: request.head.preferredLanguages
          )
        } then: { opening, resources in
          // The id of an anonymous screen is enough to use the screen. So a response that contains
          // such an id is never repeated.
          let owner = session.map { ScreenIdempotency.Owner.session($0.id) }
          return try directory.responses.once(request, body, of: owner, at: monotonic()) {
            defer { withExtendedLifetime(resources) {} }
            do {
              return opened(try await directory.open(kind, opening))
            } catch {
              throw Problem(opening: error) ?? error
            }
          }
        }
      }
    }
  }

  /// The arguments in the body and in the query. The query is for links, and overrides the body.
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
    let start = #"{"id":"\#(screen.id)","name":"\#(screen.kind)","cursor":"\#(cursor)","href":"\#(href)","state":"#
    var response = Response.screen(cursor, body: Array(start.utf8) + shown.encoded + "}".utf8)
    response.status = .created
    response.fields.append(.location, href)
    return response
  }

  private func close(_ request: Request) throws -> HandlerResult {
    try admitted(request) { kind, session in
      let preconditions = try Preconditions(of: request.head)
      let id = request.parameters["id"] ?? ""
      // This looks up the key before the screen, because a repeated request finds no open screen.
      return try directory.responses.once(
        request,
        [],
        of: session.map { .session($0.id) } ?? .screen(id.exact),
        at: monotonic()
      ) {
        let screen = try find(id, kind, session)
        guard preconditions.allowsWrite(to: screen.cursor(screen.engine.number)) else {
          throw Problem(changed: screen)
        }
        directory.end(screen, .closed)
        return .done
      }
    }
  }

  // MARK: Reading

  private func read(_ request: Request) throws -> HandlerResult {
    try found(request) { screen in
      let (query, given) = (try request.query, try Preconditions(of: request.head))
      let shown = screen.engine.number
      if !given.withoutIfNoneMatch.allowsWrite(to: screen.cursor(shown)) { throw Problem(changed: screen) }
      let preconditions = given.withoutIfMatch
      if request.head.wantsEventStream {
        let watcher = try watch(screen, request)
        return .events(of: ScreenEvents(watcher: watcher, sent: request.lastEventID), watcher, monotonic: monotonic)
      }
      let wait = try WaitPreference(of: request, query, upTo: longestWait)
      guard let wait, preconditions.ifNoneMatch != nil else { return .response(screen.response(preconditions)) }
      let watcher = try watch(screen, request)
      let poll = LongPoll(deadline: wait.deadline(for: request), watcher) { poll, isLast in
        if let problem = watcher.problem { throw problem }
        if !isLast, preconditions.isFresh(screen.cursor(watcher.look().number)) { return .parked(poll) }
        return .response(screen.response(preconditions).waited(wait))
      }
      return poll.resume(wait.seconds == 0 ? .timeOver : .woken)
    }
  }

  private func watch(_ screen: Screen, _ request: Request) throws(Problem) -> ScreenWatcher {
    guard let seat = directory.waiters.seat(for: screen.id.exact, WaitingRequest(request)) else {
      throw Problem.tooManyWaits("Too many requests wait for this screen already.")
    }
    return ScreenWatcher(screen, seat: seat, lease: lease, monotonic: monotonic)
  }

  // MARK: Acting

  private func act(_ request: Request) throws -> HandlerResult {
    try found(request) { screen in
      let preconditions = try Preconditions(of: request.head)
      return try request.withBody { body in
        try bodies.decode(body, for: screen.session?.user, from: request.network.hashValue) { _ in
          try step(of: request, body, screen)
        } then: { step, resources in
          let owner = screen.session.map { ScreenIdempotency.Owner.session($0.id) } ?? .screen(screen.id.exact)
          return try directory.responses.once(request, body, of: owner, at: monotonic()) {
            defer { withExtendedLifetime(resources) {} }
            do {
              try await step.actions.get().perform { preconditions.allowsWrite(to: screen.cursor($0)) }
            } catch {
              throw Problem(acting: error, on: screen, isArray: step.isArray) ?? error
            }
            return screen.response()
          }
        }
      }
    }
  }

  /// The actions in a body. A refusal of the actions is returned and not thrown, because the response to it is recorded
  /// under the request's key.
  private func step(
    of request: Request,
    _ body: [UInt8],
    _ screen: Screen
  ) throws(Problem) -> (actions: Result<ScreenStep, StepRefusal>, isArray: Bool) {
    let json = try JSON(readingBodyOf: request, body)
    let actions = json.arrayValue ?? [json]
    guard (1...Self.maximumActions).contains(actions.count) else {
      let detail = "It must be an action, or an array of 1 to \(Self.maximumActions) actions."
      throw Problem(.validationFailed, errors: [.init(pointer: "", detail: detail)])
    }
    let read = Result { () throws(StepRefusal) in try screen.engine.read(actions, from: request.network) }
    return (read, json.arrayValue != nil)
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
    return .screen(cursor(shown.number), body: document(shown))
  }

  func document(_ shown: EncodedState) -> [UInt8] {
    Array(#"{"cursor":"\#(cursor(shown.number))","state":"#.utf8) + shown.encoded + "}".utf8
  }
}

extension Response {
  fileprivate static func screen(_ cursor: String, body: [UInt8]) -> Response {
    var fields = Representation.validatorFields(ofTag: cursor)
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: .forBrowsers)
    return Response(status: .ok, fields: fields, body: .bytes(body))
  }
}

extension ScreenIdempotency {
  /// Runs a write once per idempotency key. A repeated request gets the first response again.
  ///
  /// Without an owner, keys are ignored. If `write` throws a permanent problem, a repeated request
  /// gets that problem again.
  func once(
    _ request: Request,
    _ body: [UInt8],
    of owner: Owner?,
    at now: Int64,
    _ write: @escaping @Sendable () async throws -> Response
  ) throws -> HandlerResult {
    // A malformed key is an error even without an owner.
    let key = try IdempotencyKey(of: request, body: body)
    guard let owner, let key else { return .async { .response(try await write()) } }
    do {
      if let known = try take(key, of: owner, at: now) {
        return .response(Response(KeyedResponse(response: known, isReplay: true)))
      }
    } catch {
      throw Problem.describing(error) ?? error
    }
    return .async {
      do {
        let response = try await write()
        self.settle(key, of: owner, StoredResponse(response))
        return .response(response)
      } catch {
        let refusal = (error as? Problem).flatMap {
          Self.permanent.contains($0.kind) ? StoredResponse($0.response) : nil
        }
        self.settle(key, of: owner, refusal)
        throw error
      }
    }
  }

  /// Kinds of problems that a retry with the same key gets again.
  private static let permanent: Set<ProblemKind> = [.conflict, .preconditionFailed, .validationFailed]
}
