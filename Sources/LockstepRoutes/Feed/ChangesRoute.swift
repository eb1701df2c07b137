import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepOpenAPI
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// `GET /v1/changes`: the changesets since a cursor, at once, as a long poll or as an event stream.
// A class, because each request that waits holds it. A struct would be copied for each of them.
package final class ChangesRoute: Sendable {
  private let reader: StateReader
  private let feed: ChangesFeed
  private let modules: Modules
  private let monotonic: @Sendable () -> Int64
  private let queries = RecentQueries()

  private var waiting: LongPolling { reader.waiting }
  private var backgroundEncoder: BackgroundEncoder { reader.backgroundEncoder }

  package init(
    _ reader: StateReader,
    feed: ChangesFeed,
    modules: Modules,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.reader = reader
    self.feed = feed
    self.modules = modules
    self.monotonic = monotonic
  }

  package var route: Route {
    Route(.get, "/v1/changes", summary: "The changesets since a cursor.") { request in
      try self.reader.gate.respond(to: request) {
        try self.respond(to: request, of: $0)
      } later: {
        { try self.respond(to: request, of: $0) }
      }
    }
    .described(ChangesDescription(modules: self.modules.current).description)
  }

  private func respond(to request: Request, of session: LiveSession) throws -> HandlerResult {
    guard request.head.has(.cursor) else { return try follow(request, of: session) }
    return try reader.whenNewEnough(for: request, of: session) { [self] in try follow(request, of: session) }
  }

  private func follow(_ request: Request, of session: LiveSession) throws -> HandlerResult {
    let query = try queries.query(of: request) { () throws(Problem) in
      try ChangesQuery(request, waiting, modules: modules.current)
    }
    if case .cursor(.some, let text) = query.since {
      waiting.directory.note(cursor: Cursor.plainTag(text), of: session)
    }
    if query.isStream { return try stream(request, query, session) }
    if let wait = query.wait, wait.seconds > 0, case .cursor = query.since {
      return try self.wait(request, query, wait, session)
    }
    let host = request.peer.host
    return try reader.withState(of: session, at: host) { [self] cached in
      let moment = Moment(query, session, host, cached, reader.registry.current)
      return try respond(moment) {
        self.response($0, to: moment, query.appliedWait)
      }
    }
  }

  // MARK: Waiting

  private func wait(_ request: Request, _ query: ChangesQuery, _ wait: WaitPreference, _ session: LiveSession) throws
    -> HandlerResult
  {
    let host = request.peer.host
    let first = { @Sendable [self] (cached: CachedState) throws -> HandlerResult in
      let moment = Moment(query, session, host, cached, reader.registry.current)
      let park = { @Sendable [self] () throws -> HandlerResult in
        let watcher = try waiting.watch(request, of: session)
        watcher.note(cached, moment.registered)
        return .parked(ChangesPoll(self, query, wait, watcher, deadline: wait.deadline(for: request)))
      }
      switch try poll(moment, wait, StateCheck(isFirst: true, isLast: false)) {
      case .ready(let result): return result
      case .unchanged: return try park()
      case .later(let work): return .async { try await work() ?? park() }
      }
    }
    if let cached = reader.cache.state(of: session.user) { return try first(cached) }
    return .async { [cache = reader.cache] in
      try first(try await cache.load(session.user, from: session.network(at: host)))
    }
  }

  /// Responds to a request that has waited. Nearly all waiters of a state have the same question,
  /// so they share the response.
  fileprivate func resume(_ poll: ChangesPoll, isLast: Bool) throws -> HandlerResult {
    let watcher = poll.watcher
    let session = watcher.session
    if let result = try watcher.withoutLease(poll, isLast: isLast) { return result }
    if session.isEnded { throw Problem.unauthorized(true) }
    let question = poll.query.question(reader.registry.revision, reader.modules)
    if let cached = reader.cache.state(of: session.user), poll.query.hasNoKeys(of: session, in: cached),
      let response = cached.waitedResponse(to: question, seconds: poll.wait.seconds)
    {
      return .response(response)
    }
    return try watcher.load { [self] cached, registered in
      let moment = Moment(poll.query, session, watcher.host, cached, registered)
      switch try self.poll(moment, poll.wait, StateCheck(isFirst: false, isLast: isLast)) {
      case .ready(let result): return result
      case .unchanged: return .parked(poll)
      case .later(let work): return .async { try await work() ?? .parked(poll) }
      }
    }
  }

  /// A query, and the states from which its document is made.
  private struct Moment: Sendable {
    let query: ChangesQuery
    let session: LiveSession
    let host: String
    let cached: CachedState
    let registered: RegisteredDefaults

    init(
      _ query: ChangesQuery,
      _ session: LiveSession,
      _ host: String,
      _ cached: CachedState,
      _ registered: RegisteredDefaults
    ) {
      self.query = query
      self.session = session
      self.host = host
      self.cached = cached
      self.registered = registered
      session.noteKeys(after: cached.state.revision)
    }

    /// See `LiveSession.networkShare`.
    var network: Int? { session.network(at: host) }
  }

  private func poll(_ moment: Moment, _ wait: WaitPreference, _ check: StateCheck) throws -> LongPollResult {
    // The first check found the cursor in the user's history. Otherwise the request would not wait.
    switch try document(moment, isKnown: !check.isFirst) {
    case .known(let document):
      if document.isEmpty, !check.isLast { return .unchanged }
      if !document.isEmpty {
        let question = moment.query.question(moment.registered.revision, self.reader.modules)
        moment.cached.remember(response(document, wait), to: question, seconds: wait.seconds)
      }
      return .ready(response(document, to: moment, wait))
    case .long(let make):
      return .later { [self] in
        let document = try await make()
        return document.isEmpty && !check.isLast ? nil : response(document, to: moment, wait)
      }
    // This never waits. A cursor that is older than the states in memory nearly always has changes
    // after it. If not, the response has the present cursor, with which the client can wait.
    case .stored(let make): return .ready(.async { [self] in response(try await make(), to: moment, wait) })
    }
  }

  // MARK: Documents

  private typealias Making = @Sendable () async throws -> ChangesFeed.Document

  private enum Found {
    case known(ChangesFeed.Document)
    /// Made from memory, but that takes too long for an event loop.
    case long(Making)
    /// Made from past states that only the store has.
    case stored(Making)
  }

  private func document(_ moment: Moment, isKnown: Bool = false) throws -> Found {
    let question = moment.query.question(moment.registered.revision, reader.modules)
    if let document = moment.cached.document(for: question) { return .known(document) }
    let found = try make(moment, isKnown: isKnown)
    if case .known(let document) = found { moment.cached.remember(document, for: question) }
    return found
  }

  private func make(_ moment: Moment, isKnown: Bool) throws -> Found {
    let (query, cached) = (moment.query, moment.cached)
    let view = StateView(store: feed.store, LedgerView(state: cached.state, registered: moment.registered))
    switch query.since {
    case .beginning: return reset(moment, since: nil, view)
    case .now: return .known(feed.nothing(since: view.cursor.text, at: view.cursor))
    case .cursor(let cursor, let text):
      guard let cursor, feed.canFollow(cursor, cached, moment.registered),
        let changed = feed.changed(since: cursor, in: cached, query.filter)
      else { return reset(moment, since: text, view) }
      guard let base = feed.base(cursor, changed, in: cached, isKnown: isKnown) else {
        return .stored(
          once(moment) { [feed, reader, user = moment.session.user] in
            try await reader.readers.readHistory(of: user, from: moment.network, written: cached.state.written) {
              connection in
              guard let base = try feed.base(cursor, changed, of: user, cached, from: connection) else {
                return feed.reset(since: text, view: view, query.filter)
              }
              return feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
            }
          }
        )
      }
      let make = { @Sendable [feed] () in
        feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
      }
      let isLong = feed.weight(since: cursor, base: base, in: view.state) > BackgroundEncoder.bound
      return isLong ? encoded(moment, make) : .known(make())
    }
  }

  private func reset(_ moment: Moment, since text: String?, _ view: StateView) -> Found {
    let filter = moment.query.filter
    let make = { @Sendable [feed] () in feed.reset(since: text, view: view, filter) }
    return feed.weight(ofAll: view.state, filter) > BackgroundEncoder.bound ? encoded(moment, make) : .known(make())
  }

  private func encoded(_ moment: Moment, _ make: @escaping @Sendable () throws -> ChangesFeed.Document) -> Found {
    .long(
      once(moment) { [backgroundEncoder] in
        try await backgroundEncoder.run(for: moment.session.user, from: moment.network, make)
      }
    )
  }

  /// Makes a document once for all requests that need the same one at the same time.
  private func once(_ moment: Moment, _ make: @escaping Making) -> Making {
    { [backgroundEncoder] in
      let question = moment.query.question(moment.registered.revision, self.reader.modules)
      let name = BackgroundEncoder.Name(question, of: moment.cached)
      let document = try await backgroundEncoder.documents.value(of: name, make)
      moment.cached.remember(document, for: question)
      return document
    }
  }

  /// Responds with a document, at once if it can be made quickly from memory.
  private func respond(
    _ moment: Moment,
    _ response: @escaping @Sendable (ChangesFeed.Document) throws -> HandlerResult
  ) throws -> HandlerResult {
    switch try document(moment) {
    case .known(let document): try response(document)
    case .long(let make), .stored(let make): .async { try response(try await make()) }
    }
  }

  /// The response to a session, with the keys of its own writes.
  private func response(_ document: ChangesFeed.Document, to moment: Moment, _ wait: WaitPreference?) -> HandlerResult {
    guard let keys = document.keys(of: moment.session) else {
      return .async { [self, session = moment.session, host = moment.host] in
        .response(response(try await keyed(document, of: session, at: host), wait))
      }
    }
    return .response(response(document.adding(keys), wait))
  }

  /// The document with the keys of a session's own writes, which only the store has.
  private func keyed(
    _ document: ChangesFeed.Document,
    of session: LiveSession,
    at host: String
  ) async throws -> ChangesFeed.Document {
    let now = Timestamp(millisecondsSince1970: reader.gate.sessions.millisecondsSince1970())
    let keys = try await reader.readers.read(for: session.user, from: session.network(at: host)) {
      try IdempotencyRecords(connection: $0).keys(of: session.id, session.user, after: document.since, at: now)
    }
    return document.adding(keys.filter { $0.revision <= document.cursor.revision }.map(\.key))
  }

  private func response(_ document: ChangesFeed.Document, _ wait: WaitPreference?) -> Response {
    var fields = document.fields
    if let wait { fields.append(.preferenceApplied, wait.appliedField) }
    return Response(status: .ok, fields: fields, body: .bytes(document.body))
  }

  // MARK: Streaming

  /// Responds with documents as server-sent events, one after the other. Each one has the keys of the
  /// session's own writes since the one before it, which was at the cursor `sent`.
  private func stream(_ request: Request, _ query: ChangesQuery, _ session: LiveSession) throws -> HandlerResult {
    let watch = try waiting.watch(request, of: session)
    return try watch.load { [self] cached, registered in
      try respond(Moment(query, session, watch.host, cached, registered)) { [self] first in
        let begin = { @Sendable [self] (first: ChangesFeed.Document) -> HandlerResult in
          let feed = ChangesEvents(at: first.cursor, watch) { [self] since, sent, state, registered in
            try next(Moment(query.following(since, as: sent), session, watch.host, state, registered), after: sent)
          }
          return .events(of: feed, first: first, watch, monotonic: monotonic)
        }
        guard let keys = first.keys(of: session) else {
          return .async { [self] in begin(try await keyed(first, of: session, at: watch.host)) }
        }
        return begin(first.adding(keys))
      }
    }
  }

  private func next(_ moment: Moment, after sent: Cursor) throws -> EventFeedStep<ChangesFeed.Document> {
    let (session, host) = (moment.session, moment.host)
    switch try document(moment) {
    case .known(let document):
      if document.isEmpty { return .part(document) }
      let document = document.following(sent.revision)
      guard let keys = document.keys(of: session) else {
        return .later { [self] in try await keyed(document, of: session, at: host) }
      }
      return .part(document.adding(keys))
    case .long(let make), .stored(let make):
      return .later { [self] in
        let document = try await make()
        return document.isEmpty ? document : try await keyed(document.following(sent.revision), of: session, at: host)
      }
    }
  }
}

extension ChangesFeed.Document {
  /// The keys of a session's writes that the document includes. Nil if only the store has them.
  fileprivate func keys(of session: LiveSession) -> [String]? {
    guard let since else { return nil }
    return since < cursor.revision ? session.keys(after: since, upTo: cursor.revision) : []
  }
}

extension ChangesQuery {
  /// Whether the feed has no keys of a session for this query.
  fileprivate func hasNoKeys(of session: LiveSession, in cached: CachedState) -> Bool {
    guard case .cursor(let cursor?, _) = since else { return false }
    return session.keys(after: cursor.revision, upTo: cached.state.revision)?.isEmpty ?? false
  }
}

/// A request to the feed that waits for a change of its user's state.
private final class ChangesPoll: ParkedRequest {
  let deadline: Int64
  let query: ChangesQuery
  let wait: WaitPreference
  let watcher: StateWatcher
  private let route: ChangesRoute

  init(
    _ route: ChangesRoute,
    _ query: ChangesQuery,
    _ wait: WaitPreference,
    _ watcher: StateWatcher,
    deadline: Int64
  ) {
    self.route = route
    self.query = query
    self.wait = wait
    self.watcher = watcher
    self.deadline = deadline
  }

  func park(_ waker: any Waker) { watcher.park(waker) }

  func unpark() {}

  func resume(_ cause: WakeReason) -> HandlerResult {
    HandlerResult { try route.resume(self, isLast: cause != .woken) }
  }
}

/// The last query of each event loop that was repeated. When a state changes, its waiters usually
/// all ask again with the same head.
private struct RecentQueries: Sendable {
  private let last = (0..<16).map { _ in LockedState<(head: RequestHead, query: ChangesQuery)?>(nil) }

  func query(of request: Request, _ make: () throws(Problem) -> ChangesQuery) throws(Problem) -> ChangesQuery {
    // Only repeated requests share their heads.
    guard request.isRepetition else { return try make() }
    let last = last[request.loop % last.count]
    if let known = last.withLock({ $0 }), known.head === request.head { return known.query }
    let query = try make()
    last.withLock { $0 = (request.head, query) }
    return query
  }
}
