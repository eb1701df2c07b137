import HTTP
import JSON

/// `GET /v1/journal`: what happened, oldest first.
struct JournalRoute: Sendable {
  /// How many entries an answer has at most.
  static let limit = 1_000

  let store: String
  let gate: StateGate
  let cache: StateCache
  let registry: RegisteredLedger
  let readers: UserReaders
  let history: History
  let waiting: Waiting

  /// Where to begin.
  private enum Since {
    /// With the first entry that is kept.
    case beginning
    /// Behind the last one.
    case now
    /// Behind a cursor; nil for one of another store.
    case cursor(Cursor?)
  }

  var route: Route {
    Route(.get, "/v1/journal", summary: "What happened, oldest first: actions and what they did.") { request in
      try gate.answer(request) { session in
        let query = try request.query
        let limit = try query.integer("limit", in: 1...Self.limit) ?? 100
        let since = try since(query)
        let wait = try waiting.preference(of: request, query)
        guard case .cursor(let cursor) = since, let wait else {
          return .then { .now(try await answer(since, limit, session, nil)) }
        }
        guard wait.seconds > 0, let cursor else {
          return .then { .now(try await answer(since, limit, session, wait)) }
        }
        return try waiting.wait(request, for: wait, of: session) { hot, _, look in
          // One from a future that was never is answered at once.
          if hot.state.revision == cursor.revision, !look.isLast { return .goOn }
          return .answer(.then { .now(try await answer(since, limit, session, wait)) })
        }
      }
    }
  }

  private func since(_ query: QueryParameters) throws(Problem) -> Since {
    guard let text = try query.text("since") else { return .beginning }
    if text == "now" { return .now }
    guard let cursor = Cursor(text) else {
      throw Problem(.invalidParameter, detail: "The parameter since must be a cursor, as an answer gave it, or now.")
    }
    return .cursor(cursor.store == store ? cursor : nil)
  }

  private func answer(
    _ since: Since,
    _ limit: Int,
    _ session: LiveSession,
    _ wait: WaitPreference?
  ) async throws -> Response {
    let (user, store, history) = (session.user, store, history)
    let registered = registry.current.revision
    // Written down there too: a thousand entries may be long.
    var response = try await readers.read(for: user) { connection in
      let journal = Journal(connection: connection)
      let last = try journal.lastRevision(of: user)
      var start = Revision.none
      var isReset = true
      switch since {
      case .beginning: break
      case .now: (start, isReset) = (last, false)
      case .cursor(let cursor):
        // One that the journal can't go on from, as it is or isn't any more, begins at the beginning.
        guard let cursor, try history.knows(cursor.revision, of: user, from: connection) else { break }
        (start, isReset) = (cursor.revision, false)
      }
      // As many more as a transaction has at most, to see where the last one ends.
      let entries = try journal.entries(of: user, after: start, limit: limit + ActionsRoute.maximum)
      let (whole, isPart) = Self.wholeTransactions(entries, limit)
      let reached = Cursor(
        store: store,
        revision: isPart ? whole.last?.revision ?? last : last,
        registered: registered
      )
      let document: JSON = [
        "cursor": .string(reached.text), "reset": .bool(isReset),
        "entries": .array(whole.map { $0.json(store: store) }),
      ]
      var response = Response.json(document, cacheControl: "no-store")
      response.fields.append(.cursor, Cursor(store: store, revision: last, registered: registered).text)
      return response
    }
    response.fields.append(.vary, "Authorization, Prefer")
    if let wait { response.fields.append(.preferenceApplied, wait.appliedField) }
    return response
  }

  /// The first entries, about `limit` of them: an answer ends with a whole transaction, or it couldn't be gone on from.
  private static func wholeTransactions(
    _ entries: [Journal.Entry],
    _ limit: Int
  ) -> (whole: [Journal.Entry], isPart: Bool) {
    guard entries.count > limit else { return (entries, false) }
    let cut = entries[limit].revision
    let whole = entries.prefix(limit).filter { $0.revision != cut }
    return (whole.isEmpty ? entries.filter { $0.revision == cut } : whole, true)
  }
}
