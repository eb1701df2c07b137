import LockstepCollections
import LockstepJSON
import LockstepTime

/// The state on which a request for changes is based.
struct FeedBase: Sendable {
  var cursor: String?
  let logins: Int
}

/// The requests for changes.
extension SyncEngine {
  func follow(in began: Int) async {
    while !Task.isCancelled, epoch.value == began {
      do {
        if environment.following == .events, let transport = environment.transport as? any StreamingTransport {
          try await streamOnce(transport, in: began)
        } else {
          try await pollOnce(in: began)
        }
      } catch {
        if Task.isCancelled || epoch.value != began { return }
        lost(ClientFailure(of: error), after: pauseAfterStreams)
      }
    }
  }

  /// The shortest time between two polls, in milliseconds.
  static let shortestPause: Int64 = 10
  /// For how long the server may be silent.
  static let patience = Duration.seconds(45)

  /// A request for the changes since the copy. The response includes the writes `known`.
  private func changesRequest(_ known: [OutboxEntry], wait: Int?, accept: String) -> ClientRequest {
    var query: [String] = []
    if let cursor = copy.position?.cursor { query.append("since=\(cursor)") }
    if let followed { query.append("collections=\(followed.map(\.percentEncoded).joined(separator: ","))") }
    if let wait { query.append("wait=\(wait)") }
    var fields = ["Accept": accept]
    if let latest = known.last?.confirmed { fields["Cursor"] = latest.cursor }
    let target = "/v1/changes" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
    return ClientRequest(target: target, fields: fields, patience: Self.patience)
  }

  private func pollOnce(in epoch: Int) async throws {
    let (isLive, began) = (connection.phase == .live, environment.now())
    let known = outbox.confirmed.filter { !$0.isIncluded }
    let cursor = copy.position?.cursor
    let waits = isLive && known.isEmpty
    let request = changesRequest(known, wait: waits ? 30 : nil, accept: "application/json")
    let found = try await authorized(request, in: epoch)
    guard let request = found.request else { return noteRefusal(found.response, of: cursor) }
    let base = FeedBase(cursor: cursor, logins: owner.logins)
    let response = try await environment.transport.response(to: request)
    guard !Task.isCancelled, self.epoch.value == epoch else { return }
    guard response.status == 200 else { return noteRefusal(response, of: cursor) }
    let arrived = environment.now()
    let document = try Self.document(response.body)
    noteTime(of: response)
    try apply(document, to: base, including: known)
    dispatch(.response)
    // Without a pause, a server that responds at once to each request would keep both sides busy. A response that comes
    // early and has no change says that the server stops. A random pause keeps all clients from asking the next server
    // at the same time.
    let isEarly = waits && document.changesets.isEmpty && arrived.milliseconds(since: began) < 15_000
    let work = environment.now().milliseconds(since: arrived)
    let pause = isEarly ? Int64(environment.random() * 1_000) : max(4 * work, Self.shortestPause)
    try await environment.clock.sleep(for: .milliseconds(pause))
  }

  /// The shortest pause after streams that have ended early. Each stream begins with a response,
  /// after which `ConnectionState` counts failures from 0 again. So `ConnectionState` does not
  /// count these streams.
  private var pauseAfterStreams: Duration {
    shortStreams < 2 ? .zero : min(.milliseconds(500 << min(shortStreams, 7)), .seconds(60))
  }

  /// Applies the events of a stream until it fails, the connection changes, or another process changes the
  /// copy.
  private func streamOnce(_ transport: any StreamingTransport, in epoch: Int) async throws {
    let known = outbox.confirmed.filter { !$0.isIncluded }
    let cursor = copy.position?.cursor
    let request = changesRequest(known, wait: nil, accept: "text/event-stream")
    let found = try await authorized(request, in: epoch)
    guard let request = found.request else { return noteRefusal(found.response, of: cursor) }
    let base = FeedBase(cursor: cursor, logins: owner.logins)
    let stream = try await transport.stream(of: request)
    guard !Task.isCancelled, self.epoch.value == epoch else { return }
    guard stream.response.status == 200 else {
      var response = stream.response
      for try await part in stream.parts {
        response.body += part
        // A problem document is shorter than this.
        if response.body.count > 1 << 20 { break }
      }
      return noteRefusal(response, of: cursor)
    }
    noteTime(of: stream.response)
    dispatch(.response)
    lastPartAt = environment.now()
    let began = lastPartAt
    defer { shortStreams = environment.now().milliseconds(since: began) < 5_000 ? shortStreams + 1 : 0 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.failAfterSilence() }
      group.addTask { try await self.applyEvents(of: stream, to: base, including: known, in: epoch) }
      try await group.next()
      group.cancelAll()
    }
  }

  private func applyEvents(
    of stream: ClientStream,
    to base: FeedBase,
    including known: [OutboxEntry],
    in epoch: Int
  ) async throws {
    var (parser, base, known) = (EventParser(), base, known)
    for try await part in stream.parts {
      lastPartAt = environment.now()
      for event in try parser.read(part) {
        guard !Task.isCancelled, self.epoch.value == epoch else { return }
        let document = try Self.document(event)
        // Another process has changed the copy. The next stream begins there.
        guard try apply(document, to: base, including: known) else { return }
        (base.cursor, known) = (document.position.cursor, [])
      }
    }
    throw ClientFailure(.unreachable, "The server has ended the stream.")
  }

  /// Throws when the server has sent nothing for some time. It sends something every 15 seconds.
  private func failAfterSilence() async throws {
    while true {
      // The clock may have been set back.
      if environment.now() < lastPartAt { lastPartAt = environment.now() }
      let silence = Duration.milliseconds(environment.now().milliseconds(since: lastPartAt))
      if silence >= Self.patience {
        throw ClientFailure(.unreachable, "The server has sent nothing for \(Self.patience).")
      }
      try await environment.clock.sleep(for: Self.patience - silence)
    }
  }

  private static func document(_ body: [UInt8]) throws -> ChangesDocument {
    guard let json = try? JSON(parsing: body), let document = ChangesDocument(json) else {
      throw ClientFailure(
        .unreachable,
        "The server is not a Lockstep server: its response is not a document of changes."
      )
    }
    return document
  }

  private func noteRefusal(_ response: ClientResponse, of cursor: String?) {
    switch response.status {
    // Such a response may come from a proxy in front of the server.
    case _ where response.problem == nil: lost(ClientFailure(response), after: response.retryAfter)
    case 401: dispatch(.unauthorized(ClientFailure(response)))
    case 408, 429, 500...506, 508...599: lost(ClientFailure(response), after: response.retryAfter)
    case 400 where cursor != nil: copy.forgetPosition()
    default: dispatch(.refused(ClientFailure(response)))
    }
  }

  /// Applies a response to a request that was made on `base`. It includes the writes `known`. If the file cannot
  /// be written, nothing changes, so that the next response begins with what is in the file. Returns false if
  /// another process has changed the copy or the user meanwhile: then the response does not fit.
  @discardableResult
  func apply(_ document: ChangesDocument, to base: FeedBase, including known: [OutboxEntry]) throws -> Bool {
    if !document.isReset, document.since != base.cursor {
      throw ClientFailure(.unreachable, "The response does not belong to the request: it may come from a cache.")
    }

    var (next, writes, isCurrent) = (copy, [Int64: OutboxEntry?](), true)
    try update(sync: false) {
      isCurrent = copy.position?.cursor == base.cursor && owner.logins == base.logins
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
    guard isCurrent else { return false }
    copy = next
    outbox.apply(writes)
    rebuildSoon()
    if feedEpoch != epoch.value {
      feedEpoch = epoch.value
      if outbox.waiting > 0 { self.writes.publish(self.writes.value + 1) }
    }
    return true
  }

  func lost(_ failure: ClientFailure, after least: Duration = .zero) {
    let at = connection.retryTime(now: environment.now(), random: environment.random(), after: least)
    dispatch(.noResponse(retryAt: at, failure))
  }
}
