import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// `GET /v1/journal`: what happened, oldest first.
package struct JournalRoute: Sendable {
  /// How many entries an answer has at most, beside the bound of a page in bytes.
  static let limit = 1_000

  let store: String
  let gate: StateAuthenticator
  let cache: StateCache
  let registry: RegisteredLedger
  let readers: UserReaders
  let history: StateHistory
  let waiting: LongPolling

  package init(
    store: String,
    gate: StateAuthenticator,
    cache: StateCache,
    registry: RegisteredLedger,
    readers: UserReaders,
    history: StateHistory,
    waiting: LongPolling
  ) {
    self.store = store
    self.gate = gate
    self.cache = cache
    self.registry = registry
    self.readers = readers
    self.history = history
    self.waiting = waiting
  }

  /// Where to begin.
  private enum Since {
    /// With the first entry that is kept.
    case beginning
    /// Behind the last one.
    case now
    /// Behind a cursor; nil for one of another store.
    case cursor(Cursor?)
  }

  package var route: Route {
    Route(.get, "/v1/journal", summary: "What happened, oldest first: actions and what they did.") { request in
      try gate.answer(request) { session in
        let query = try request.query
        let limit = try query.integer("limit", in: 1...Self.limit) ?? 100
        let since = try since(query)
        let wait = try waiting.preference(of: request, query)
        guard case .cursor(let cursor) = since, let wait else {
          return .async { .response(try await answer(since, limit, session, nil)) }
        }
        guard wait.seconds > 0, let cursor else {
          return .async { .response(try await answer(since, limit, session, wait)) }
        }
        return try waiting.wait(request, for: wait, of: session) { hot, _, look in
          // One from a future that was never is answered at once.
          if hot.state.revision == cursor.revision, !look.isLast { return .goOn }
          return .answer(.async { .response(try await answer(since, limit, session, wait)) })
        }
      }
    }
    .described(Self.description)
  }

  private static var description: RouteDescription {
    RouteDescription(
      "getJournal",
      part: "Changes",
      access: .user,
      parameters: [
        RouteParameter(
          "since",
          in: .query,
          "Begins behind this cursor; `now` behind the last entry. Without it, or where the journal doesn't know it, at "
            + "the beginning (reset).",
          schema: .cursorSchema
        ),
        RouteParameter(
          "limit",
          in: .query,
          "How many entries, at most; a transaction isn't taken apart.",
          schema: ["type": "integer", "minimum": 1, "maximum": JSON(limit), "default": 100]
        ),
      ] + RouteParameter.waiting,
      answers: [
        RouteAnswer(
          .ok,
          "A part of the journal, up to cursor.",
          fields: [.cacheControl, .vary, .cursor, .preferenceApplied],
          json: .schema(ofObject: [
            SchemaMember(name: "cursor", schema: .cursorSchema),
            SchemaMember(name: "reset", schema: ["type": "boolean"]),
            SchemaMember(name: "entries", schema: .arraySchema(of: .reference("JournalEntry"))),
          ])
        )
      ],
      problems: [.invalidParameter, .unauthorized, .tooManyRequests, .overloaded],
      schemas: .shared(entrySchema, SharedSchema.fact)
    )
  }

  /// An entry, as a schema with a name.
  static var entrySchema: (String, JSON) {
    let action = JSON.schema(ofObject: [
      SchemaMember(name: "type", schema: .textSchema), SchemaMember(name: "payload", schema: ["type": "object"]),
    ])
    return (
      "JournalEntry",
      .schema(ofObject: [
        SchemaMember(name: "cursor", schema: .cursorSchema),
        SchemaMember(name: "at", schema: .timeSchema),
        SchemaMember(name: "session", schema: ["type": ["string", "null"]]),
        SchemaMember(name: "module", schema: .textSchema),
        SchemaMember(name: "action", schema: action),
        SchemaMember(name: "mutations", schema: .arraySchema(of: .reference("Fact"))),
      ])
    )
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
    // Written down there too: a page may be long.
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
      let page = try JournalPage(of: user, after: start, limit: limit, from: journal, store: store)
      // What was registered when the last entry of a part was written isn't known: whoever goes on in the feed is told all of it again.
      let reached =
        if page.isPart, let end = page.last { Cursor(store: store, revision: end) } else {
          Cursor(store: store, revision: last, registered: registered)
        }
      var body = Array(#"{"cursor":"\#(reached.text)","reset":\#(isReset),"entries":["#.utf8)
      body.reserveCapacity(body.count + page.entries.count + 2)
      body.append(contentsOf: page.entries)
      body.append(contentsOf: "]}".utf8)
      var fields = HeaderFields()
      fields.append(.contentType, "application/json")
      fields.append(.cacheControl, "no-store")
      fields.append(.cursor, Cursor(store: store, revision: last, registered: registered).text)
      return Response(status: .ok, fields: fields, body: .bytes(body))
    }
    response.fields.append(.vary, "Authorization, Prefer")
    if let wait { response.fields.append(.preferenceApplied, wait.appliedField) }
    return response
  }
}
