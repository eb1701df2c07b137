import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// `GET /v1/changes`: the changesets since a cursor, at once, as a long poll or as an event stream.
package struct ChangesRoute: Sendable {
  private let reader: StateReader
  private let feed: ChangesFeed
  private let modules: Set<String>
  private let monotonic: @Sendable () -> Int64

  private var waiting: LongPolling { reader.waiting }
  private var backgroundEncoder: BackgroundEncoder { reader.backgroundEncoder }

  package init(
    _ reader: StateReader,
    feed: ChangesFeed,
    modules: Set<String>,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.reader = reader
    self.feed = feed
    self.modules = modules
    self.monotonic = monotonic
  }

  package var route: Route {
    Route(.get, "/v1/changes", summary: "The changesets since a cursor.") { request in
      try reader.gate.respond(to: request) { session in
        let query = try ChangesQuery(request, waiting, modules: modules)
        if case .cursor(.some, let text) = query.since {
          waiting.directory.note(cursor: Cursor.plainTag(text), of: session)
        }
        if query.isStream { return try stream(query, session) }
        guard let wait = query.wait, wait.seconds > 0, case .cursor = query.since else {
          return try reader.withState(of: session) { cached in
            try respond(Moment(query: query, session: session, cached: cached, registered: reader.registry.current)) {
              .response(response($0, query.appliedWait))
            }
          }
        }
        return try waiting.wait(request, for: wait, of: session) { cached, registered, check in
          try poll(Moment(query: query, session: session, cached: cached, registered: registered), wait, check)
        }
      }
    }
    .described(ChangesDescription(modules: modules).description)
  }

  /// A query, and the states from which its document is made.
  private struct Moment: Sendable {
    let query: ChangesQuery
    let session: LiveSession
    let cached: CachedState
    let registered: RegisteredDefaults
  }

  private func poll(_ moment: Moment, _ wait: WaitPreference, _ check: StateCheck) throws -> LongPollResult {
    // The first check found the cursor in the user's history. Otherwise the request would not wait.
    switch try document(moment, isKnown: !check.isFirst) {
    case .known(let document):
      if document.isEmpty, !check.isLast { return .unchanged }
      return .ready(.response(response(document, wait)))
    case .long(let make):
      return .later {
        let document = try await make()
        return document.isEmpty && !check.isLast ? nil : .response(response(document, wait))
      }
    // This never waits. A cursor that is older than the states in memory nearly always has changes
    // after it. If not, the response has the present cursor, with which the client can wait.
    case .stored(let make): return .ready(.async { .response(response(try await make(), wait)) })
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
    let question = moment.query.question(moment.registered)
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
      guard let cursor, feed.canFollow(cursor, cached, moment.registered) else {
        return reset(moment, since: text, view)
      }
      let changed = feed.changed(since: cursor, in: cached, query.filter)
      guard let base = feed.base(cursor, changed, in: cached, isKnown: isKnown) else {
        return .stored(
          once(moment) { [feed, user = moment.session.user] in
            try await reader.readers.read(for: user) { connection in
              guard let base = try feed.base(cursor, changed, of: user, from: connection) else {
                return feed.reset(since: text, view: view, query.filter)
              }
              return feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
            }
          }
        )
      }
      let make = { @Sendable () in
        feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
      }
      let isLong = feed.weight(since: cursor, base: base, in: view.state) > BackgroundEncoder.bound
      return isLong ? encoded(moment, make) : .known(make())
    }
  }

  private func reset(_ moment: Moment, since text: String?, _ view: StateView) -> Found {
    let filter = moment.query.filter
    let make = { @Sendable () in feed.reset(since: text, view: view, filter) }
    return feed.weight(ofAll: view.state, filter) > BackgroundEncoder.bound ? encoded(moment, make) : .known(make())
  }

  private func encoded(_ moment: Moment, _ make: @escaping @Sendable () throws -> ChangesFeed.Document) -> Found {
    .long(once(moment) { try await backgroundEncoder.run(for: moment.session.user, make) })
  }

  /// Makes a document once for all requests that need the same one at the same time.
  private func once(_ moment: Moment, _ make: @escaping Making) -> Making {
    {
      let question = moment.query.question(moment.registered)
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

  private func response(_ document: ChangesFeed.Document, _ wait: WaitPreference?) -> Response {
    var fields = document.fields
    if let wait { fields.append(.preferenceApplied, wait.appliedField) }
    return Response(status: .ok, fields: fields, body: .bytes(document.body))
  }

  // MARK: Streaming

  /// Responds with documents as server-sent events, one after the other.
  private func stream(_ query: ChangesQuery, _ session: LiveSession) throws -> HandlerResult {
    let watch = try waiting.watch(for: session)
    return try watch.load { cached, registered in
      try respond(Moment(query: query, session: session, cached: cached, registered: registered)) { first in
        let events = ChangesEvents(first: first, watch: watch, monotonic: monotonic) { since, sent, state, registered in
          switch try document(
            Moment(query: query.following(since, as: sent), session: session, cached: state, registered: registered)
          ) {
          case .known(let document): .document(document)
          case .long(let make), .stored(let make): .later(make)
          }
        }
        return .eventStream(ChangesEvents.response, events)
      }
    }
  }
}
