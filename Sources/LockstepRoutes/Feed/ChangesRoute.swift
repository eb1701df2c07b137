import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// `GET /v1/changes`: what happened since a cursor, now or as soon as something does.
package struct ChangesRoute: Sendable {
  let gate: StateAuthenticator
  let cache: StateCache
  let registry: RegisteredLedger
  let readers: UserReaders
  let feed: ChangesFeed
  let waiting: LongPolling
  let backgroundEncoder: BackgroundEncoder
  let modules: Set<String>
  /// The server's monotonic clock.
  let monotonic: @Sendable () -> Int64

  package init(
    gate: StateAuthenticator,
    cache: StateCache,
    registry: RegisteredLedger,
    readers: UserReaders,
    feed: ChangesFeed,
    waiting: LongPolling,
    backgroundEncoder: BackgroundEncoder,
    modules: Set<String>,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.gate = gate
    self.cache = cache
    self.registry = registry
    self.readers = readers
    self.feed = feed
    self.waiting = waiting
    self.backgroundEncoder = backgroundEncoder
    self.modules = modules
    self.monotonic = monotonic
  }

  package var route: Route {
    Route(.get, "/v1/changes", summary: "What happened since a cursor, as soon as something does.") { request in
      try gate.answer(request) { session in
        let query = try ChangesQuery(request, waiting, modules: modules)
        if case .cursor(.some, let text) = query.since { waiting.directory.note(cursor: text, of: session) }
        if query.isStream { return try stream(query, session) }
        guard let wait = query.wait, wait.seconds > 0, case .cursor = query.since else {
          return try present(session) { hot, registered in
            try tell(query, session, hot, registered) { .response(response($0, query.appliedWait)) }
          }
        }
        return try waiting.wait(request, for: wait, of: session) { hot, registered, look in
          try answer(query, session, hot, registered, wait, look)
        }
      }
    }
    .described(ChangesDescription(modules: modules).description)
  }

  private func present(
    _ session: LiveSession,
    _ answer: @escaping @Sendable (CachedState, RegisteredDefaults) throws -> HandlerResult
  ) throws -> HandlerResult {
    if let hot = cache.state(of: session.user) { return try answer(hot, registry.current) }
    return .async { try answer(try await cache.load(session.user), registry.current) }
  }

  // MARK: Waiting

  /// The answer by the present.
  private func answer(
    _ query: ChangesQuery,
    _ session: LiveSession,
    _ hot: CachedState,
    _ registered: RegisteredDefaults,
    _ wait: WaitPreference,
    _ look: StateCheck
  ) throws -> LongPollResult {
    // A cursor with which somebody was let wait is one of the user's history.
    switch try document(query, hot, registered, isKnown: !look.isFirst) {
    case .known(let document):
      if document.isEmpty, !look.isLast { return .goOn }
      return .answer(.response(response(document, wait)))
    case .long(let make):
      return .later {
        let document = try await made(query, session, hot, registered, make)
        return document.isEmpty && !look.isLast ? nil : .response(response(document, wait))
      }
    // Whose cursor is so old that it must be read what changed has something to be told, nearly always; and where not, the
    // answer is the cursor of now, with which it waits.
    case .stored(let cursor, let text, let changed):
      return .answer(
        .async { .response(response(try await stored(query, cursor, text, changed, session, hot, registered), wait)) }
      )
    }
  }

  // MARK: What there is to tell

  /// What is known of an answer without asking the store.
  private enum Found {
    case known(ChangesFeed.Document)
    /// All is known that it's made of, and to make it takes so long that no loop can wait for it.
    case long(@Sendable () throws -> ChangesFeed.Document)
    /// The states of the past that it's made of are only in the store.
    case stored(Cursor, text: String, changed: [CollectionName])
  }

  private func document(
    _ query: ChangesQuery,
    _ hot: CachedState,
    _ registered: RegisteredDefaults,
    isKnown: Bool = false
  ) throws -> Found {
    let question = query.question(registered)
    if let document = hot.told(question) { return .known(document) }
    let found = try make(query, hot, registered, isKnown: isKnown)
    if case .known(let document) = found { hot.remember(document, for: question) }
    return found
  }

  private func make(
    _ query: ChangesQuery,
    _ hot: CachedState,
    _ registered: RegisteredDefaults,
    isKnown: Bool
  ) throws -> Found {
    let view = view(hot, registered)
    switch query.since {
    case .beginning: return reset(query, since: nil, view)
    case .now: return .known(feed.nothing(since: view.cursor.text, at: view.cursor))
    case .cursor(let cursor, let text):
      guard let cursor, feed.canFollow(cursor, hot, registered) else {
        return reset(query, since: text, view)
      }
      let changed = feed.changed(since: cursor, in: hot, query.filter)
      guard let base = feed.base(cursor, changed, in: hot, isKnown: isKnown) else {
        return .stored(cursor, text: text, changed: changed)
      }
      let make = { @Sendable () throws in
        try feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
      }
      let isLong = feed.weight(since: cursor, base: base, in: view.state) > BackgroundEncoder.bound
      return isLong ? .long(make) : .known(try make())
    }
  }

  private func reset(_ query: ChangesQuery, since text: String?, _ view: StateView) -> Found {
    let make = { @Sendable () in feed.reset(since: text, view: view, query.filter) }
    return feed.weight(ofAll: view.state, query.filter) > BackgroundEncoder.bound ? .long(make) : .known(make())
  }

  /// Has a document made, once for all who want the same.
  private func made(
    _ query: ChangesQuery,
    _ session: LiveSession,
    _ hot: CachedState,
    _ registered: RegisteredDefaults,
    _ make: @escaping @Sendable () throws -> ChangesFeed.Document
  ) async throws -> ChangesFeed.Document {
    let question = query.question(registered)
    let document = try await backgroundEncoder.documents.value(of: BackgroundEncoder.Name(question, of: hot)) {
      try await backgroundEncoder.run(for: session.user, make)
    }
    hot.remember(document, for: question)
    return document
  }

  private func stored(
    _ query: ChangesQuery,
    _ cursor: Cursor,
    _ text: String,
    _ changed: [CollectionName],
    _ session: LiveSession,
    _ hot: CachedState,
    _ registered: RegisteredDefaults
  ) async throws -> ChangesFeed.Document {
    let (feed, user, view) = (feed, session.user, view(hot, registered))
    let question = query.question(registered)
    let document = try await backgroundEncoder.documents.value(of: BackgroundEncoder.Name(question, of: hot)) {
      try await readers.read(for: user) { connection in
        guard let base = try feed.base(cursor, changed, of: user, from: connection) else {
          return feed.reset(since: text, view: view, query.filter)
        }
        return try feed.changes(since: cursor, as: text, base: base, view: view, query.filter)
      }
    }
    hot.remember(document, for: question)
    return document
  }

  /// Hands over what there is to tell: at once where the store needn't be asked.
  private func tell(
    _ query: ChangesQuery,
    _ session: LiveSession,
    _ hot: CachedState,
    _ registered: RegisteredDefaults,
    _ answer: @escaping @Sendable (ChangesFeed.Document) throws -> HandlerResult
  ) throws -> HandlerResult {
    switch try document(query, hot, registered) {
    case .known(let document): return try answer(document)
    case .long(let make): return .async { try answer(try await made(query, session, hot, registered, make)) }
    case .stored(let cursor, let text, let changed):
      return .async { try answer(try await stored(query, cursor, text, changed, session, hot, registered)) }
    }
  }

  private func view(_ hot: CachedState, _ registered: RegisteredDefaults) -> StateView {
    StateView(store: feed.store, LedgerView(state: hot.state, registered: registered))
  }

  private func response(_ document: ChangesFeed.Document, _ wait: WaitPreference?) -> Response {
    var fields = document.fields
    if let wait { fields.append(.preferenceApplied, wait.appliedField) }
    return Response(status: .ok, fields: fields, body: .bytes(document.body))
  }

  // MARK: Streaming

  /// Server-sent events: the same documents, one after the other, over one connection.
  private func stream(_ query: ChangesQuery, _ session: LiveSession) throws -> HandlerResult {
    let watch = try waiting.watch(for: session)
    return try watch.look { hot, registered in
      try tell(query, session, hot, registered) { first in
        let events = ChangesEvents(first: first, watch: watch, monotonic: monotonic) { since, told, hot, registered in
          let next = query.following(since, as: told)
          switch try document(next, hot, registered) {
          case .known(let document): return .document(document)
          case .long(let make): return .later { try await made(next, session, hot, registered, make) }
          case .stored(let cursor, let text, let changed):
            return .later { try await stored(next, cursor, text, changed, session, hot, registered) }
          }
        }
        return .eventStream(ChangesEvents.response, events)
      }
    }
  }
}

extension ChangesQuery {
  /// The same question, from a cursor on, answered to somebody whose cursor is another one since which nothing happened
  /// that was asked for.
  func following(_ cursor: Cursor, as told: Cursor) -> ChangesQuery {
    ChangesQuery(since: .cursor(cursor, text: told.text), filter, wait, isStream: isStream)
  }
}
