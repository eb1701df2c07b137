import LockstepJSON
import LockstepTime

/// The requests of the outbox.
extension SyncEngine {
  func sendAll(in began: Int) async {
    for await _ in writes.values {
      while !Task.isCancelled, epoch.value == began, connection.phase == .live, let entry = outbox.next {
        // The feed says whether the server has applied a write that was sent before.
        if entry.sentAt != nil, feedEpoch != began { break }
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

  func sendOnce(_ entry: OutboxEntry, in began: Int) async throws {
    guard let entry = try prepare(entry) else { return }
    let actions = entry.actions.map { action in
      var json = action.json.objectValue ?? JSONObject()
      if let base = entry.base { json["ifMatch"] = .string(base.cursor) }
      return JSON.object(json)
    }
    let body = JSON.object(["actions": .array(actions)]).encoded()
    let fields = ["Content-Type": "application/json", "Idempotency-Key": entry.key]
    let request = ClientRequest(method: "POST", target: "/v1/actions", fields: fields, body: body)
    let response = try await send(request, in: began)
    guard outbox[entry.number]?.isWaiting == true else { return }
    switch response.status {
    case 200:
      guard let json = try? JSON(parsing: response.body), let cursor = json["cursor"]?.stringValue,
        let revision = response.revision, ChangesDocument.Position.isCursor(cursor)
      else {
        throw ClientFailure(.unreachable, "The server is not a Lockstep server: its response to a write has no cursor.")
      }
      let position = ChangesDocument.Position(cursor: cursor, revision: revision)
      try confirm(entry.number, at: position, json)
    // Such a response may come from a proxy in front of the server.
    case _ where response.problem == nil: lost(ClientFailure(response), after: response.retryAfter)
    case 401: dispatch(.unauthorized(ClientFailure(response)))
    case 408, 425, 429, 500...506, 508...599: lost(ClientFailure(response), after: response.retryAfter)
    case 409 where response["Retry-After"] != nil: lost(ClientFailure(response), after: response.retryAfter)
    case 412 where entry.isInDoubt: try refuse(entry.number, Self.inDoubt)
    case 412:
      guard let resolve = conditions[entry.number]?.resolve, let problem = response.problem,
        let current = problem["current"], let cursor = problem["cursor"]?.stringValue
      else { return try refuse(entry.number, ClientFailure(response)) }
      let resolved = await unlessCancelled { () -> Result<[ClientAction]?, any Error> in
        do { return .success(try await resolve(current)) } catch { return .failure(error) }
      }
      // Meanwhile, the write may have been removed.
      guard let resolved, outbox[entry.number]?.key == entry.key else { return }
      let mine: [ClientAction]
      switch resolved {
      case .success(let actions?): mine = actions
      case .success(nil):
        try remove(entry.number, because: ClientFailure(response)) { $0.isWaiting && $0.key == entry.key }
        return
      case .failure: return try refuse(entry.number, ClientFailure(response))
      }
      let base = ChangesDocument.Position(cursor: cursor, revision: response.revision ?? 0)
      let key = environment.newKey()
      try change(entry.number) { entry in
        (entry.key, entry.actions, entry.base) = (key, mine, base)
        (entry.sentAt, entry.sentFrom) = (nil, nil)
      }
      rebuild(.local)
      // Without a pause, an element that changes all the time would keep both sides busy.
      let rounds = (conflicts[entry.number] ?? 0) + 1
      conflicts[entry.number] = rounds
      if rounds > 1 { try await environment.clock.sleep(for: Self.pause(afterConflicts: rounds)) }
    default: try refuse(entry.number, ClientFailure(response))
    }
  }

  private static let inDoubt = ClientFailure(
    .uncertain,
    "The client first sent this write more than 23 hours ago, or at an unknown time, and got no response. The server "
      + "may have applied it."
  )

  /// Notes in the file that a write is sent now. Nil: it must not be sent.
  private func prepare(_ entry: OutboxEntry) throws -> OutboxEntry? {
    let now = serverTime?.now
    let sentAt = now ?? OutboxEntry.unknownTime
    if entry.sentAt == nil {
      let from = (entry.base ?? copy.position).map { outbox.base(for: entry.actions, at: $0) }
      try change(entry.number) { ($0.sentAt, $0.sentFrom) = (sentAt, from) }
      return waitingEntry(entry.number)
    }
    // The feed has responded since the write was sent.
    switch entry.doubt(at: now) {
    case .hasKey: return entry
    case .applied:
      if let position = copy.position {
        try confirm(entry.number, at: position, [:])
        return nil
      }
      // Another process has forgotten the position. The response to the same key has one.
      if entry.isKeyKnown(at: now) { return entry }
      try refuse(entry.number, Self.inDoubt)
      return nil
    case .hasNoKey:
      guard let from = entry.sentFrom else {
        try refuse(entry.number, Self.inDoubt)
        return nil
      }
      // If the server has applied the write, its elements have changed since, and the condition is false.
      let key = environment.newKey()
      try change(entry.number) { ($0.key, $0.base, $0.sentAt, $0.isInDoubt) = (key, from, sentAt, true) }
      return waitingEntry(entry.number)
    }
  }

  private func waitingEntry(_ number: Int64) -> OutboxEntry? {
    outbox[number].flatMap { $0.isWaiting ? $0 : nil }
  }

  /// Notes the time of a response of the server.
  func noteTime(of response: ClientResponse) {
    if let time = ServerTime(response["Date"], on: environment.clock) { serverTime = time }
  }

  /// The pause before a write that had several conflicts in a row is sent again.
  private static func pause(afterConflicts rounds: Int) -> Duration {
    min(.milliseconds(10 << min(rounds, 10)), .seconds(10))
  }

  func confirm(_ number: Int64, at position: ChangesDocument.Position, _ body: JSON) throws {
    let results = body["results"]?.arrayValue
    let result = WriteResult(cursor: position.cursor, results: results ?? [])
    // Without results, the feed has named the key of the write, as it does for each write that has changed something.
    let hasChanged = results?.contains { $0["mutations"]?.arrayValue?.isEmpty == false } ?? true
    var (changes, isStale): ([Int64: OutboxEntry?], Bool) = ([:], false)
    try update(sync: false) {
      guard let entry = outbox[number], entry.isWaiting else { return nil }
      changes = outbox.changes(confirming: number, at: position, hasChanged: hasChanged, copy: copy.position)
      // The copy included the write before this response said so, so the app has seen the write twice.
      isStale = changes[number] == .some(nil) && !entry.isIncluded
      return StoreChange(writes: changes, outcomes: outcomeForOthers(of: entry, .success(result)) ?? [:])
    }
    outbox.apply(changes)
    settle(number, .success(result))
    if isStale { rebuildSoon() } else { show(.server) }
  }

  func refuse(_ number: Int64, _ failure: ClientFailure) throws {
    var refused: OutboxEntry?
    try update {
      guard var entry = outbox[number], entry.isWaiting else { return nil }
      entry.refusal = failure
      refused = entry
      return StoreChange(writes: [number: entry], outcomes: outcomeForOthers(of: entry, .failure(failure)) ?? [:])
    }
    guard let refused else { return }
    outbox.put(refused)
    settle(number, .failure(failure))
    rebuildSoon()
  }
}
