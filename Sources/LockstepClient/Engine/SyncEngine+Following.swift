import LockstepCollections
import LockstepJSON
import LockstepTime

/// The polls.
extension SyncEngine {
  func follow(in began: Int) async {
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
  static let shortestPause: Int64 = 10

  func pollOnce(in epoch: Int) async throws {
    let (isLive, began) = (connection.phase == .live, environment.now())
    let known = outbox.confirmed.filter { !$0.isIncluded }
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
    let arrived = environment.now()
    switch response.status {
    case 200:
      guard let json = try? JSON(parsing: response.body), let document = ChangesDocument(json) else {
        throw ClientFailure("The server is not a Lockstep server: its response is not a document of changes.")
      }
      try apply(document, since: cursor, including: known)
      dispatch(.response)
      // Without a pause, a server that responds at once to each request would keep both sides busy. If nothing has
      // changed, the server stops: then not all clients must ask the next one at the same time.
      let isEarly = waits && document.changesets.isEmpty && arrived.milliseconds(since: began) < 15_000
      let work = environment.now().milliseconds(since: arrived)
      let pause = isEarly ? Int64(environment.random() * 1_000) : max(4 * work, Self.shortestPause)
      try await environment.clock.sleep(for: .milliseconds(pause))
    case 400 where cursor != nil: copy.forgetPosition()
    case 401: dispatch(.unauthorized(ClientFailure(response)))
    case 408, 429, 500...506, 508...599: lost(ClientFailure(response), after: response.retryAfter)
    default: dispatch(.refused(ClientFailure(response)))
    }
  }

  /// Applies a response to a request with the cursor `since`. It includes the writes `known`. If the file cannot
  /// be written, nothing changes, so that the next response begins with what is in the file.
  func apply(_ document: ChangesDocument, since: String?, including known: [OutboxEntry]) throws {
    var (next, writes, isCurrent) = (copy, [Int64: OutboxEntry?](), true)
    try update(sync: false) {
      // Another process may have changed the copy while the response was on its way.
      isCurrent = copy.position?.cursor == since
      guard isCurrent else { return nil }
      next = copy
      next.apply(document)
      writes = outbox.changes(after: document, including: Set(known.map(\.number)))
      var change = StoreChange(position: .some(next.position), writes: writes)
      let names = Set(document.changesets.map(\.collection))
      let isUnique = names.count == document.changesets.count
      for changeset in document.changesets {
        if !isUnique || changeset.isWhole || store.isWorthRewriting(changeset.collection) {
          change.collections[changeset.collection] = .some(next.state.collections[changeset.collection])
        } else {
          change.changesets.append(changeset)
        }
      }
      if document.isReset {
        for name in copy.state.collections.keys where next.state.collections[name] == nil {
          change.collections[name] = .some(nil)
        }
      }
      return change
    }
    guard isCurrent else { return }
    copy = next
    outbox.apply(writes)
    rebuildSoon()
  }

  func lost(_ failure: ClientFailure, after least: Duration = .zero) {
    let at = connection.retryTime(now: environment.now(), random: environment.random(), after: least)
    dispatch(.noResponse(retryAt: at, failure))
  }
}
