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
  let waiting: Waiting

  var route: Route {
    Route(.get, "/v1/journal", summary: "What happened, oldest first: actions and what they did.") { request in
      try gate.answer(request) { session in
        let query = try request.query
        let limit = try query.integer("limit", in: 1...Self.limit) ?? 100
        let since = try since(query)
        let wait = try waiting.preference(of: request, query)
        guard let wait, wait.seconds > 0, let since else {
          return .then { .now(try await answer(since ?? .none, limit, session, wait)) }
        }
        return try waiting.wait(request, for: wait, of: session) { hot, _, look in
          if hot.state.revision == since, !look.isLast { return nil }
          return .then { .now(try await answer(since, limit, session, wait)) }
        }
      }
    }
  }

  /// The revision behind which to begin. A cursor of another store, or from before the history that is kept, begins at the
  /// beginning.
  private func since(_ query: QueryParameters) throws(Problem) -> Revision? {
    guard let text = try query.text("since") else { return nil }
    guard let cursor = Cursor(text) else {
      throw Problem(.invalidParameter, detail: "The parameter since must be a cursor, as an answer gave it.")
    }
    return cursor.store == store ? cursor.revision : .none
  }

  private func answer(
    _ since: Revision,
    _ limit: Int,
    _ session: LiveSession,
    _ wait: WaitPreference?
  ) async throws -> Response {
    let (user, store) = (session.user, store)
    let (entries, last) = try await readers.read(for: user) { connection in
      let journal = Journal(connection: connection)
      let since = try journal.knows(since, of: user) ? since : .none
      // As many more as a transaction has at most, to see where the last one ends.
      let entries = try journal.entries(of: user, after: since, limit: limit + ActionsRoute.maximum)
      return (Self.wholeTransactions(entries, limit), try journal.lastRevision(of: user))
    }
    let reached = Cursor(
      store: store,
      revision: entries.isPart ? entries.whole.last?.revision ?? last : last,
      registered: registry.current.revision
    )
    let document: JSON = [
      "cursor": .string(reached.text), "entries": .array(entries.whole.map { $0.json(store: store) }),
    ]
    var response = Response.json(document, cacheControl: "no-store")
    response.fields.append(.vary, "Authorization, Prefer")
    response.fields.append(.cursor, Cursor(store: store, revision: last, registered: registry.current.revision).text)
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
