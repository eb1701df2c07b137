import LockstepClient
import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepReactor
import LockstepTime
import Synchronization

/// A server in memory for tests of apps: it runs the real modules, on the test's clock, and fails when the test
/// says so.
///
///     let server = FakeServer(clock: clock)
///     let client = try LockstepClient(store: .memory, transport: server, clock: clock)
///     server.goOffline()
///
/// All tokens lead to the same state. A token is valid until `revokeSession(_:)`. After a login, the id of the user is
/// the e-mail address, so that a client notices another user.
public final class FakeServer: StreamingTransport {
  struct Contents: Sendable {
    var modules: [ExactText: UserModule]
    var history = [UserState()]
    var era = 1
    var responses: [ExactText: KeyedResponse] = [:]
    var isOffline = false
    var lostResponses = 0
    var revoked: Set<ExactText> = []
    var requests: [ClientRequest] = []

    var revision: Int { history.count - 1 }
    var state: UserState { history[revision] }
  }

  /// The response to a write with an idempotency key.
  struct KeyedResponse: Sendable {
    /// For how long the server sends a response again, in milliseconds.
    static let lifetime: Int64 = 24 * 3_600_000

    let response: ClientResponse
    let at: Timestamp
    /// The revision after the write; nil if it has changed nothing.
    let revision: Int?
  }

  private struct Unreachable: Error, CustomStringConvertible {
    let description: String
  }

  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Timestamp
  private let contents: Mutex<Contents>
  /// Counts the changes for which requests wait.
  private let changes = Latest(0)
  private let holding = Latest(false)

  /// A server without data. `modules` are your own, besides `favorites`, `defaults` and `profile`. `now` returns the
  /// time of day. By default, the server reads it from the clock, or from the system if it is a `ContinuousClock`.
  public init(
    modules: [UserModule] = [],
    clock: any Clock<Duration> = ContinuousClock(),
    now: (@Sendable () -> Timestamp)? = nil
  ) {
    let builtIn = [UserModule.favorites(), DefaultsModule(quota: DefaultsQuota()).userModule, .profile]
    contents = Mutex(
      Contents(modules: Dictionary((builtIn + modules).map { ($0.name.exact, $0) }) { first, _ in first })
    )
    (self.clock, self.now) = (clock, now ?? WallTime.of(clock))
  }

  // MARK: - Failures

  /// From now on, no request gets a response, and waiting requests lose their responses.
  public func goOffline() {
    contents.withLock { $0.isOffline = true }
    notify()
  }

  /// Requests get responses again.
  public func goOnline() { contents.withLock { $0.isOffline = false } }

  /// Applies the next write, and loses its response.
  public func loseNextResponse() { contents.withLock { $0.lostResponses += 1 } }

  /// Refuses a token from now on.
  public func revokeSession(_ token: String) {
    _ = contents.withLock { $0.revoked.insert(token.exact) }
    notify()
  }

  /// Drops the keys of all writes so far, as a real server does some time after a day. The server then applies a
  /// repeated request again, and the feed does not name the keys any more. Without this call, the server also applies
  /// a repeated request again when a day has passed, but the feed still names its key.
  public func forgetResponses() { contents.withLock { $0.responses = [:] } }

  /// From now on, responses wait until `releaseResponses`.
  public func holdResponses() { holding.publish(true) }

  /// Sends the responses that wait.
  public func releaseResponses() { holding.publish(false) }

  /// Accepts all tokens again.
  public func restoreSessions() { contents.withLock { $0.revoked = [] } }

  /// Drops the last transactions, as the restore of an old backup does. Later transactions have the same revisions
  /// and another era.
  public func restoreOldBackup(without transactions: Int) {
    contents.withLock { contents in
      contents.history.removeLast(min(transactions, contents.revision))
      contents.era += 1
      let revision = contents.revision
      contents.responses = contents.responses.filter { $0.value.revision ?? 0 <= revision }
    }
    notify()
  }

  /// The requests so far.
  public var requests: [ClientRequest] { contents.withLock { $0.requests } }

  /// Declares a collection, as an administrator does with `PUT /v1/admin/collections/{name}`. The
  /// declaration has the member `name`. Throws if it is invalid. The server does not check the
  /// quota.
  public func declare(_ declaration: JSON) throws {
    let module = UserModule.declared(try DeclaredCollection(declaration))
    contents.withLock { $0.modules[module.name.exact] = module }
  }

  /// Performs actions as another device does, or as a backend if the collection is read only. Each has
  /// the form of an entry of `POST /v1/actions`.
  @discardableResult
  public func perform(_ actions: JSON...) -> ClientResponse {
    let response = contents.withLock { write(actions, isBackend: true, key: nil, &$0) }
    notify()
    return response
  }

  /// A collection as `GET` shows its elements or values.
  public func json(of collection: String) -> JSON {
    let name = CollectionName(text: collection)
    return contents.withLock { contents in
      switch contents.state.collections[name] {
      case .list(let list)?: .array(list.items.map { .object($0.object) })
      case .map(let map)?: Self.object(map)
      case nil: .null
      }
    }
  }

  // MARK: - Requests

  /// Responds as a server does.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    var response = try await ownResponse(to: request)
    for await isHolding in holding.values where !isHolding { break }
    response.fields["date"] = Self.date(now())
    return response
  }

  private func ownResponse(to request: ClientRequest) async throws -> ClientResponse {
    contents.withLock { $0.requests.append(request) }
    try expectNetwork()
    let token = request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) } ?? ""
    let (path, query) = Self.parts(of: request.target)
    let isLogin = request.method == "POST" && ["/v1/sessions", "/v1/users"].contains(path)
    if !isLogin, isRevoked(token) { return FakeProblem.invalidToken }
    switch (request.method, path) {
    case ("GET", "/v1/me"):
      return ClientResponse(status: 200, body: JSON.object(["id": .string(user(of: token))]).encoded())
    case ("POST", "/v1/sessions"), ("POST", "/v1/users"):
      let email = (try? JSON(parsing: request.body ?? []))?["email"]?.stringValue ?? ""
      let body: JSON = ["token": .string("token of \(email)"), "user": ["id": .string(email)]]
      return ClientResponse(status: 201, body: body.encoded())
    case ("DELETE", "/v1/sessions/current"):
      revokeSession(token)
      return ClientResponse(status: 204)
    case ("GET", "/v1/changes"): return try await changes(query, request, token)
    case ("POST", "/v1/actions"):
      let body = try? JSON(parsing: request.body ?? [])
      guard let actions = body?["actions"]?.arrayValue, (1...500).contains(actions.count) else {
        return FakeProblem.invalid([("/actions", "It must be an array of 1 to 500 actions.")])
      }
      let (response, isLost) = contents.withLock { contents in
        let response = write(actions, isBackend: false, key: request.fields["Idempotency-Key"], &contents)
        defer { contents.lostResponses = max(0, contents.lostResponses - 1) }
        return (response, contents.lostResponses > 0)
      }
      notify()
      if isLost { throw Unreachable(description: "the response was lost") }
      return response
    default: return FakeProblem.response(.notFound, "There is no such route.")
    }
  }

  /// Streams the changes, as a server does for `Accept: text/event-stream`.
  public func stream(of request: ClientRequest) async throws -> ClientStream {
    contents.withLock { $0.requests.append(request) }
    try expectNetwork()
    let token = request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) } ?? ""
    let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    if isRevoked(token) {
      continuation.finish()
      return ClientStream(response: FakeProblem.invalidToken, parts: parts)
    }
    let query = Self.parts(of: request.target).query
    let names = query["collections"].map { Set($0.split(separator: ",").map { ExactText(String($0)) }) }
    let since = Mutex(query["since"])
    // The first event comes at once, even if nothing has changed.
    let hasBegun = Mutex(false)
    let changed = changes.values
    // The reader's task makes the parts, so that they come in its time.
    let made = AsyncThrowingStream<[UInt8], any Error> { [self, clock] in
      while !Task.isCancelled {
        try expectNetwork()
        if isRevoked(token) { return nil }
        let document = contents.withLock { contents -> JSON? in
          let known = since.withLock { $0 }.flatMap { Self.revision(of: $0, contents) }
          let isFirst = hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
          }
          if known == contents.revision, !isFirst { return nil }
          since.withLock { $0 = Self.cursor(contents, contents.revision) }
          return Self.document(contents, since: known, names, at: now())
        }
        if let document { return Array("event: changes\ndata: \(document)\n\n".utf8) }
        let isChanged = await withTaskGroup(of: Bool.self) { group in
          group.addTask { (try? await clock.sleep(for: .seconds(15))) == nil }
          group.addTask { [present = changes.value] in
            for await value in changed where value != present { return true }
            return true
          }
          defer { group.cancelAll() }
          return await group.next() ?? true
        }
        if !isChanged { return Array(":\n\n".utf8) }
      }
      return nil
    }
    return ClientStream(response: ClientResponse(status: 200, fields: ["Date": Self.date(now())]), parts: made)
  }

  private func user(of token: String) -> String {
    token.hasPrefix("token of ") ? String(token.dropFirst("token of ".count)) : "user"
  }

  private func notify() { changes.publish(changes.value + 1) }

  private func expectNetwork() throws {
    if contents.withLock({ $0.isOffline }) { throw Unreachable(description: "there is no network") }
  }

  private func isRevoked(_ token: String) -> Bool {
    contents.withLock { token.isEmpty || $0.revoked.contains(token.exact) }
  }

  private func changes(_ query: [String: String], _ request: ClientRequest, _ token: String) async throws
    -> ClientResponse
  {
    let since = query["since"]
    let names = query["collections"].map { Set($0.split(separator: ",").map { ExactText(String($0)) }) }
    if let seconds = query["wait"].flatMap({ Int($0) }) {
      let start = contents.withLock { Self.cursor($0, $0.revision) }
      if since == start { await wait(seconds, token) { Self.cursor($0, $0.revision) != start } }
    }
    try expectNetwork()
    if isRevoked(token) { return FakeProblem.invalidToken }
    return contents.withLock { contents in
      let known = since.flatMap { Self.revision(of: $0, contents) }
      let document = Self.document(contents, since: known, names, at: now())
      return ClientResponse(
        status: 200,
        fields: ["Revision": "\(contents.revision)", "Content-Type": "application/json"],
        body: document.encoded()
      )
    }
  }

  private func wait(_ seconds: Int, _ token: String, until isOver: @escaping @Sendable (Contents) -> Bool) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [clock] in try? await clock.sleep(for: .seconds(seconds)) }
      group.addTask { [self] in
        for await _ in changes.values {
          if isRevoked(token) { return }
          if contents.withLock({ $0.isOffline || isOver($0) }) { return }
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  // MARK: - Writes

  private func write(
    _ actions: [JSON],
    isBackend: Bool,
    key: String?,
    _ contents: inout Contents
  ) -> ClientResponse {
    let (now, before) = (self.now(), contents.revision)
    if let key, let known = contents.responses[key.exact],
      now.millisecondsSince1970 - known.at.millisecondsSince1970 < KeyedResponse.lifetime
    {
      return known.response
    }
    let response = decide(actions, isBackend: isBackend, &contents)
    if let key {
      let revision = contents.revision == before ? nil : contents.revision
      contents.responses[key.exact] = KeyedResponse(response: response, at: now, revision: revision)
    }
    return response
  }

  private func decide(_ actions: [JSON], isBackend: Bool, _ contents: inout Contents) -> ClientResponse {
    var state = contents.state
    let revision = Revision(number: contents.revision + 1)
    var (results, hasChanged): ([JSON], Bool) = ([], false)
    for (index, action) in actions.enumerated() {
      let (name, type) = (action["module"]?.stringValue ?? "", action["type"]?.stringValue ?? "")
      guard let module = contents.modules[name.exact] else {
        let names = contents.modules.keys.sorted().map(\.text).joined(separator: ", ")
        let detail = "There is no module “\(name)”, only \(names)."
        return FakeProblem.invalid([("/actions/\(index)/module", detail)], failed: index)
      }
      do {
        let context = ActionContext(state: state, registered: RegisteredDefaults(), now: now())
        guard let decided = try module.read(type, action["payload"] ?? [:]) else {
          let detail = "The module \(name) has no action “\(type)”."
          return FakeProblem.invalid([("/actions/\(index)/type", detail)], failed: index)
        }
        if let (current, cursor) = Self.change(of: action, in: decided.collection, contents) {
          return FakeProblem.changed(current, cursor: cursor, revision: contents.revision, failed: index)
        }
        if module.isReadOnly, !isBackend {
          throw Refusal.forbidden("Only the administrator and service tokens can change \(name).")
        }
        let mutations = try decided.decide(context)
        if !mutations.isEmpty {
          _ = state.reduce(mutations, in: decided.collection, by: module.reducer, revision: revision)
          hasChanged = true
        }
        results.append(["mutations": JSON(trusting: CollectionMutation.encoded(mutations))])
      } catch let refusal as Refusal {
        return refusal.response(ofAction: index)
      } catch {
        return FakeProblem.response(.internal, "\(error)")
      }
    }
    if hasChanged {
      state.revision = revision
      contents.history.append(state)
    }
    let cursor = Self.cursor(contents, contents.revision)
    return ClientResponse(
      status: 200,
      fields: ["Revision": "\(contents.revision)", "Content-Type": "application/json"],
      body: JSON.object(["cursor": .string(cursor), "results": .array(results)]).encoded()
    )
  }
}

extension Refusal {
  /// The problem of an action of `POST /v1/actions`.
  fileprivate func response(ofAction index: Int) -> ClientResponse {
    let failed: JSONObject = ["failed": JSON(index)]
    return switch self {
    case .invalid(let faults):
      FakeProblem.invalid(faults.map { ("/actions/\(index)/payload\($0.pointer)", $0.detail) }, failed: index)
    case .notFound(let detail): FakeProblem.response(.notFound, detail, failed)
    case .forbidden(let detail): FakeProblem.response(.forbidden, detail, failed)
    case .conflict(let detail): FakeProblem.response(.conflict, detail, failed)
    case .quotaExceeded(let detail): FakeProblem.response(.quotaExceeded, detail, failed)
    }
  }
}
