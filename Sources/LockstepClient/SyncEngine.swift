import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepTime

/// Keeps the copy, the outbox and the connection of a client. Everything that changes them passes through here,
/// one step at a time.
actor SyncEngine: ActionWriter {
  struct Environment: Sendable {
    var transport: any ClientTransport
    var credentials: any ClientCredentials
    var clock: any Clock<Duration>
    var now: @Sendable () -> Timestamp
    var random: @Sendable () -> Double
    var newKey: @Sendable () -> String
  }

  /// How a write has ended.
  typealias Outcome = Result<WriteResult, ClientFailure>

  private let environment: Environment
  private let store: ClientStore
  private let publish: @Sendable (Shown) -> Void
  /// The collections that the client follows, in order; nil for all.
  private let followed: [String]?

  /// The state that the client shows after it was opened.
  nonisolated let first: Shown

  private var copy = ClientCopy()
  private var outbox = Outbox()
  private var view: OptimisticView
  private var user: String?
  private var connection = ConnectionState()
  private var outcomes: [Int64: Latest<WriteProgress>] = [:]
  private var resolvers: [Int64: Resolver] = [:]
  /// Counts the changes of the connection. A task of an earlier number must end.
  private let epoch = Latest(0)
  /// Counts the writes, so that the sender looks again.
  private let writes = Latest(0)
  /// The token whose user is known to be `user`.
  private var checkedToken: String?
  private var storeFailure: ClientFailure?
  private var shownCount = 0
  private var isRunning = false

  init(
    store: sending ClientStore,
    modules: [UserModule],
    following followed: [String]?,
    _ environment: Environment,
    publish: @escaping @Sendable (Shown) -> Void
  ) throws {
    self.store = store
    self.environment = environment
    self.publish = publish
    self.followed = followed?.sorted()
    view = OptimisticView(modules)
    let contents = try store.read()
    (copy, outbox, user) = (contents.copy, contents.outbox, contents.user)
    if contents.followed != self.followed {
      copy.forgetPosition()
      try store.write(ClientStore.Change(position: .some(nil), owner: .init(user: user, followed: self.followed)))
    }
    view.rebuild(on: copy, outbox)
    first = Shown(
      sequence: 0,
      state: view.state,
      isReady: copy.position != nil,
      origin: .local,
      connection: connection,
      pending: outbox.waiting,
      refused: outbox.entries.filter { $0.refusal != nil },
      storeFailure: nil
    )
  }

  // MARK: - Writes

  /// Adds a write. When this returns, it is on disk and shown.
  func write(_ actions: [ClientAction]) throws -> PendingWrite { try write(actions, condition: nil) }

  /// The same with a condition.
  func write(_ actions: [ClientAction], condition: WriteCondition?) throws -> PendingWrite {
    var base: ChangesDocument.Position?
    if condition != nil {
      guard let position = copy.position else {
        throw ClientFailure("There is no copy of the state yet, so a condition has no meaning.")
      }
      base = outbox.base(for: actions, at: position)
    }
    var entry = outbox.add(actions, key: environment.newKey(), at: environment.now())
    if let base {
      outbox.change(entry.number) { $0.base = base }
      entry.base = base
    }
    do {
      try store.write(ClientStore.Change(writes: [entry.number: entry]))
    } catch {
      outbox.remove(entry.number)
      throw error
    }
    let progress = Latest(WriteProgress.pending)
    outcomes[entry.number] = progress
    if let condition { resolvers[entry.number] = condition.resolve }
    view.add(outbox)
    show(.local)
    writes.publish(writes.value + 1)
    return PendingWrite(number: entry.number, progress: progress)
  }

  /// Removes a write that was not sent yet. Returns false if it was.
  func cancel(_ number: Int64) throws -> Bool {
    guard let entry = outbox[number], entry.sentAt == nil, entry.isWaiting else { return false }
    try remove(entry, because: ClientFailure("The write was cancelled."))
    return true
  }

  /// Removes a refused write.
  func dismiss(_ number: Int64) throws {
    guard let entry = outbox[number], entry.refusal != nil else { return }
    try remove(entry, because: nil)
  }

  /// Sends a refused write again, as a new one.
  func retry(_ number: Int64) throws -> PendingWrite? {
    guard let entry = outbox[number], entry.refusal != nil else { return nil }
    try remove(entry, because: nil)
    return try write(entry.actions)
  }

  private func remove(_ entry: OutboxEntry, because failure: ClientFailure?) throws {
    try store.write(ClientStore.Change(writes: [entry.number: nil]))
    outbox.remove(entry.number)
    if let failure { settle(entry.number, .failure(failure)) }
    rebuild(.local)
  }

  private func settle(_ number: Int64, _ outcome: Outcome) {
    resolvers[number] = nil
    guard let progress = outcomes.removeValue(forKey: number) else { return }
    switch outcome {
    case .success(let result): progress.publish(.confirmed(result))
    case .failure(let failure): progress.publish(.failed(failure))
    }
    progress.finish()
  }

  // MARK: - Sessions

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
    if user != id {
      user = id
      try save(ClientStore.Change(owner: .init(user: id, followed: followed)))
    }
    checkedToken = token
  }

  private func forgetUser() throws {
    var change = ClientStore.Change(position: .some(nil), owner: .init(user: nil, followed: followed))
    for name in copy.state.collections.keys { change.collections[name] = .some(nil) }
    for entry in outbox.entries { change.writes[entry.number] = .some(nil) }
    try save(change)
    let gone = outbox.entries
    outbox.removeAll()
    (copy, user) = (ClientCopy(), nil)
    for entry in gone { settle(entry.number, .failure(ClientFailure("The user has logged out."))) }
    rebuild(.local)
  }

  // MARK: - The connection

  /// Follows the server until `stop`, or until the task is cancelled.
  func run() async {
    if isRunning { return }
    isRunning = true
    defer { isRunning = false }
    dispatch(.start)
    while !Task.isCancelled, connection.phase != .stopped {
      let began = epoch.value
      switch connection.phase {
      case .connecting, .live:
        await untilChange(of: began) { engine in
          await withTaskGroup(of: Void.self) { group in
            group.addTask { await engine.follow(in: began) }
            group.addTask { await engine.sendAll(in: began) }
          }
        }
      case .offline:
        let pause = (connection.retryAt ?? environment.now()).milliseconds(since: environment.now())
        await untilChange(of: began) { engine in
          // Fails only if the connection has changed meanwhile.
          guard (try? await engine.environment.clock.sleep(for: .milliseconds(max(0, pause)))) != nil else { return }
          await engine.retryTimeHasCome(in: began)
        }
      case .idle, .needsLogin, .failed: await untilChange(of: began) { _ in }
      case .stopped: break
      }
    }
    dispatch(.stop)
  }

  /// Runs `body`, and cancels it when the connection changes. Returns after the change.
  private func untilChange(of began: Int, _ body: @escaping @Sendable (SyncEngine) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      let work = group.addTaskUnlessCancelled { await body(self) }
      guard work else { return }
      for await present in epoch.values where present != began { break }
      group.cancelAll()
    }
  }

  func dispatch(_ event: ConnectionEvent) {
    let (next, commands) = connection.next(after: event)
    guard next != connection || !commands.isEmpty else { return }
    connection = next
    if commands.contains(where: { $0 != .send }) { epoch.publish(epoch.value + 1) }
    if commands.contains(.send) { writes.publish(writes.value + 1) }
    show(.server)
  }

  private func retryTimeHasCome(in began: Int) {
    if epoch.value == began, !Task.isCancelled { dispatch(.time) }
  }

  // MARK: - Following

  private func follow(in began: Int) async {
    while !Task.isCancelled, epoch.value == began {
      do {
        try await pollOnce(in: began)
      } catch {
        if Task.isCancelled || epoch.value != began { return }
        lost(ClientFailure(of: error))
      }
    }
  }

  /// The time between two polls, in milliseconds.
  private static let shortestPause = 10

  private func pollOnce(in epoch: Int) async throws {
    let (isLive, began) = (connection.phase == .live, environment.now())
    let known = outbox.entries.filter { $0.confirmed != nil && !$0.isIncluded }
    let cursor = copy.position?.cursor
    var query: [String] = []
    if let cursor { query.append("since=\(cursor)") }
    if let followed { query.append("collections=\(followed.map(\.percentEncoded).joined(separator: ","))") }
    var fields = ["Accept": "application/json"]
    // The response includes these writes.
    if let latest = known.last?.confirmed { fields["Cursor"] = latest.cursor }
    let waits = isLive && known.isEmpty
    if waits { query.append("wait=30") }
    let target = "/v1/changes" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
    let response = try await send(ClientRequest(target: target, fields: fields, patience: .seconds(45)), in: epoch)
    guard !Task.isCancelled, self.epoch.value == epoch else { return }
    switch response.status {
    case 200:
      guard let json = try? JSON(parsing: response.body), let document = ChangesDocument(json) else {
        throw ClientFailure("The server is not a Lockstep server: its response is not a document of changes.")
      }
      try apply(document, including: known)
      dispatch(.response)
      // Without a pause, a server that responds at once to each request would keep both sides busy. If nothing has
      // changed, the server stops: then not all clients must ask the next one at the same time.
      let isEarly = waits && document.changesets.isEmpty
      let isSoon = environment.now().milliseconds(since: began) < 15_000
      let pause = isEarly && isSoon ? Int(environment.random() * 1_000) : 0
      try await environment.clock.sleep(for: .milliseconds(max(Self.shortestPause, pause)))
    case 400 where cursor != nil: copy.forgetPosition()
    case 401: dispatch(.unauthorized(ClientFailure(response)))
    case 408, 429, 500...506, 508...599: lost(ClientFailure(response), after: response.retryAfter)
    default: dispatch(.refused(ClientFailure(response)))
    }
  }

  /// Applies a response which includes the writes `known`. If the file cannot be written, nothing changes, so
  /// that the next response begins with what is in the file.
  private func apply(_ document: ChangesDocument, including known: [OutboxEntry]) throws {
    var (nextCopy, nextOutbox) = (copy, outbox)
    nextCopy.apply(document)
    for entry in known { nextOutbox.change(entry.number) { $0.isIncluded = true } }
    var change = ClientStore.Change(position: .some(nextCopy.position))
    for changeset in document.changesets {
      change.collections[changeset.collection] = .some(nextCopy.state.collections[changeset.collection])
    }
    if document.isReset {
      for name in copy.state.collections.keys where nextCopy.state.collections[name] == nil {
        change.collections[name] = .some(nil)
      }
    }
    let (removed, changed) = nextOutbox.noteCopy(of: document)
    for number in removed { change.writes[number] = .some(nil) }
    for number in changed { change.writes[number] = .some(nextOutbox[number]) }
    try save(change)
    (copy, outbox) = (nextCopy, nextOutbox)
    rebuild(.server)
  }

  /// Waits longer after each failure, by chance, because all clients connect again after a restart.
  private func lost(_ failure: ClientFailure, after least: Duration = .zero) {
    let bound = min(60_000, 500 * (1 << min(connection.attempt, 7)))
    let delay = Double(bound) * (0.5 + environment.random() / 2)
    let wait = max(Int64(delay), least.milliseconds)
    let at = Timestamp(millisecondsSince1970: environment.now().millisecondsSince1970 + wait)
    dispatch(.noResponse(retryAt: at, failure))
  }

  // MARK: - Sending

  private func sendAll(in began: Int) async {
    for await _ in writes.values {
      while !Task.isCancelled, epoch.value == began, connection.phase == .live, let entry = outbox.next {
        do {
          try await sendOnce(entry, in: began)
        } catch {
          if Task.isCancelled || epoch.value != began { return }
          return lost(ClientFailure(of: error))
        }
      }
      if epoch.value != began { return }
    }
  }

  private func sendOnce(_ entry: OutboxEntry, in began: Int) async throws {
    let now = environment.now()
    if let sentAt = entry.sentAt, now.milliseconds(since: sentAt) > Outbox.keyLifetime.milliseconds, !entry.isIncluded {
      return try refuse(entry.number, ClientFailure("It was sent more than a day ago, and may have been applied."))
    }
    if entry.sentAt == nil { try change(entry.number) { $0.sentAt = now } }
    let actions = entry.actions.map { action in
      var json = action.json.objectValue ?? JSONObject()
      if let base = entry.base { json["ifMatch"] = .string(base.cursor) }
      return JSON.object(json)
    }
    let body = JSON.object(["actions": .array(actions)]).encoded()
    let fields = ["Content-Type": "application/json", "Idempotency-Key": entry.key]
    let request = ClientRequest(method: "POST", target: "/v1/actions", fields: fields, body: body)
    let response = try await send(request, in: began)
    guard outbox[entry.number] != nil else { return }
    let json = try? JSON(parsing: response.body)
    switch response.status {
    case 200:
      guard let json, let cursor = json["cursor"]?.stringValue, let revision = response.revision else {
        throw ClientFailure("The server is not a Lockstep server: its response to a write has no cursor.")
      }
      let position = ChangesDocument.Position(cursor: cursor, revision: revision)
      try confirm(entry.number, at: position, json)
    case 401: dispatch(.unauthorized(ClientFailure(response)))
    case 408, 425, 429, 500...506, 508...599: lost(ClientFailure(response), after: response.retryAfter)
    case 409 where response["Retry-After"] != nil: lost(ClientFailure(response), after: response.retryAfter)
    case 412:
      guard let resolve = resolvers[entry.number], let current = json?["current"],
        let cursor = json?["cursor"]?.stringValue
      else { return try refuse(entry.number, ClientFailure(response)) }
      guard let mine = await resolve(current, entry.actions) else {
        return try refuse(entry.number, ClientFailure(response))
      }
      let base = ChangesDocument.Position(cursor: cursor, revision: response.revision ?? 0)
      let key = environment.newKey()
      try change(entry.number) { entry in
        (entry.key, entry.actions, entry.base, entry.sentAt) = (key, mine, base, nil)
      }
      rebuild(.local)
    default: try refuse(entry.number, ClientFailure(response))
    }
  }

  private func confirm(_ number: Int64, at position: ChangesDocument.Position, _ body: JSON) throws {
    var (change, next) = (ClientStore.Change(), outbox)
    for changed in next.confirm(number, at: position) { change.writes[changed] = .some(next[changed]) }
    for removed in next.dropIncluded(at: copy.position) { change.writes[removed] = .some(nil) }
    try save(change)
    outbox = next
    settle(number, .success(WriteResult(cursor: position.cursor, results: body["results"]?.arrayValue ?? [])))
    rebuild(.server)
  }

  private func refuse(_ number: Int64, _ failure: ClientFailure) throws {
    try change(number) { $0.refusal = failure }
    settle(number, .failure(failure))
    rebuild(.server)
  }

  // MARK: - Parts

  /// Sends a request with the token, in the connection `began`. Nothing is sent for another user than the one
  /// for whom the request was made: if the token belongs to another one, the connection begins again.
  private func send(_ request: ClientRequest, in began: Int) async throws -> ClientResponse {
    guard let token = try await environment.credentials.token() else { return ClientResponse(status: 401) }
    if token != checkedToken {
      let fields = ["Authorization": "Bearer \(token)"]
      let response = try await environment.transport.response(to: ClientRequest(target: "/v1/me", fields: fields))
      guard response.status == 200, let id = (try? JSON(parsing: response.body))?["id"]?.stringValue else {
        return response
      }
      guard epoch.value == began else { throw CancellationError() }
      let isOther = user != nil && user != id
      try become(id, with: token)
      if isOther { dispatch(.login) }
    }
    guard epoch.value == began else { throw CancellationError() }
    var request = request
    request.fields["Authorization"] = "Bearer \(token)"
    return try await environment.transport.response(to: request)
  }

  /// Changes a write in the file, and then in memory.
  private func change(_ number: Int64, _ body: (inout OutboxEntry) -> Void) throws {
    guard var entry = outbox[number] else { return }
    body(&entry)
    try save(ClientStore.Change(writes: [number: entry]))
    outbox.change(number) { $0 = entry }
  }

  private func save(_ change: ClientStore.Change) throws {
    do {
      try store.write(change)
      storeFailure = nil
    } catch {
      storeFailure = ClientFailure("The client's file cannot be written: \(error)")
      throw error
    }
  }

  private func rebuild(_ origin: ChangeOrigin) {
    view.rebuild(on: copy, outbox)
    show(origin)
  }

  private func show(_ origin: ChangeOrigin) {
    shownCount += 1
    publish(
      Shown(
        sequence: shownCount,
        state: view.state,
        isReady: copy.position != nil,
        origin: origin,
        connection: connection,
        pending: outbox.waiting,
        refused: outbox.entries.filter { $0.refusal != nil },
        storeFailure: storeFailure
      )
    )
  }
}
