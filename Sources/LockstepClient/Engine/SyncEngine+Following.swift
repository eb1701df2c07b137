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
  static let shortestPause = 10

  func pollOnce(in epoch: Int) async throws {
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
  func apply(_ document: ChangesDocument, including known: [OutboxEntry]) throws {
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
  func lost(_ failure: ClientFailure, after least: Duration = .zero) {
    let bound = min(60_000, 500 * (1 << min(connection.attempt, 7)))
    let delay = Double(bound) * (0.5 + environment.random() / 2)
    let wait = max(Int64(delay), least.milliseconds)
    let at = Timestamp(millisecondsSince1970: environment.now().millisecondsSince1970 + wait)
    dispatch(.noResponse(retryAt: at, failure))
  }
}
