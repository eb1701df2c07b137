import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI
import LockstepStore
import LockstepSync

/// `GET /v1/journal`: actions and their mutations, oldest first.
package struct JournalRoute: Sendable {
  /// The most entries in a page. A page also has a limit in bytes.
  private static let limit = 1_000

  private let reader: StateReader
  private var store: String { reader.store }

  package init(_ reader: StateReader) { self.reader = reader }

  package var route: Route {
    Route(.get, "/v1/journal", summary: "Lists actions and their mutations, oldest first.") { request in
      try reader.gate.respond(to: request) { session in
        let query = try request.query
        let limit = try query.integer("limit", in: 1...Self.limit) ?? 100
        let since = try FeedPosition(query.text("since"))
        let wait = try reader.waiting.preference(of: request, query)
        let network = request.network(of: session)
        let page = { @Sendable (wait: WaitPreference?) in
          HandlerResult.async { .response(try await response(since, limit, session, network, wait)) }
        }
        return try reader.whenNewEnough(for: request, of: session) {
          guard case .cursor(let cursor, _) = since, let wait else { return page(nil) }
          guard wait.seconds > 0, let cursor, isKnown(cursor) else { return page(wait) }
          return try reader.waiting.wait(request, for: wait, of: session) { cached, _, look in
            // The cursor of a lost history has another revision, so it gets a response at once.
            if cached.state.revision == cursor.revision, !look.isLast { return .unchanged }
            return .ready(page(wait))
          }
        }
      }
    }
    .described(Self.description)
  }

  private static var description: RouteDescription {
    let entries = JSON.arraySchema(of: .reference("JournalEntry"))
    return RouteDescription(
      "getJournal",
      part: "Changes",
      access: .user,
      parameters: [
        .journalStart,
        .mostEntries(limit, "A transaction with more actions than this is still sent whole."),
      ] + RouteParameter.waiting + [.newEnough],
      responses: [
        RouteResponse(
          .ok,
          "The entries up to `cursor`.",
          fields: [.cacheControl, .vary, .cursor, .revision, .preferenceApplied],
          json: .schema(["cursor": .cursorSchema, "reset": ["type": "boolean"], "entries": entries])
        )
      ],
      problems: [.invalidParameter, .unauthorized, .tooManyRequests, .overloaded],
      schemas: .shared(entrySchema, SharedSchema.mutation)
    )
  }

  package static let entrySchema: (String, JSON) = (
    "JournalEntry",
    .schema(
      [
        "cursor": .cursorSchema, "at": .timeSchema, "session": .nullableTextSchema, "module": .textSchema,
        "action": ["anyOf": [.schema(["type": .textSchema, "payload": ["type": "object"]]), ["type": "null"]]],
        "mutations": ["anyOf": [.arraySchema(of: .reference(SharedSchema.mutation.0)), ["type": "null"]]],
      ],
      optional: [
        "by": [
          "type": "string",
          "description":
            "The name of the service token that made the change; `administrator` for the administrator token.",
        ],
        "unreadable": [
          "type": "array", "items": ["enum": ["action", "mutations"]],
          "description": "The members that are null because the store is damaged there.",
        ],
      ]
    )
  )

  /// Whether a cursor belongs to this store, and the store knows the cursor's registered defaults.
  private func isKnown(_ cursor: Cursor) -> Bool {
    cursor.store == store && reader.registry.current.knows(cursor.registered)
  }

  private func response(
    _ since: FeedPosition,
    _ limit: Int,
    _ session: LiveSession,
    _ network: Int?,
    _ wait: WaitPreference?
  ) async throws -> Response {
    let (user, history) = (session.user, reader.history)
    let registered = reader.registry.current.revision
    // The page may be long, so the reader's thread also encodes it.
    return try await reader.readers.read(for: user, from: network) { [self] connection in
      let journal = Journal(connection: connection)
      let last = try journal.lastRevision(of: user)
      // The user may have been erased since the session was looked up.
      if last == .none, try !UserRecords(connection: connection).has(user) { throw SessionEndedError() }
      var start = Revision.none
      var isReset = true
      switch since {
      case .beginning: break
      case .now: (start, isReset) = (last, false)
      case .cursor(let cursor, _):
        // A page after a cursor of another store, or of lost or pruned history, is a reset.
        guard let cursor, isKnown(cursor), try history.knows(cursor.revision, of: user, from: connection) else { break }
        (start, isReset) = (cursor.revision, false)
      }
      let page = try JournalPage(of: user, after: start, limit: limit, from: journal, store: store)
      // The journal does not record registered defaults, so the cursor of a partial page has none.
      // If a client continues in the feed from there, the feed sends all of them again.
      let reached =
        if page.isPart, let end = page.last { Cursor(store: store, revision: end) } else {
          Cursor(store: store, revision: last, registered: registered)
        }
      let cursor = Cursor(store: store, revision: last, registered: registered).text
      var fields = HeaderFields([.contentType: "application/json", .cacheControl: "no-store"])
      fields.append(StatePosition(cursor: cursor, revision: last.number))
      fields.append(.vary, "Authorization, Prefer")
      if let wait { fields.append(.preferenceApplied, wait.appliedField) }
      let opening = Array(#"{"cursor":"\#(reached.text)","reset":\#(isReset),"entries":["#.utf8)
      return Response(status: .ok, fields: fields, body: body(opening, page.first, of: user, from: network))
    }
  }

  /// The body of a page. If the page has more than one slice, each further slice is read from the
  /// store when the client has taken the one before it.
  private func body(_ opening: [UInt8], _ first: JournalSlice, of user: UserID, from network: Int?) -> Response.Body {
    let closing = Array("]}".utf8)
    guard first.hasMore else { return .bytes(opening + first.text + closing) }
    return .stream(holding: first.text.count) { [readers = reader.readers] writer in
      try await writer.write(opening + first.text)
      var slice = first
      while slice.hasMore {
        slice = try await readers.read(for: user, from: network) { [slice] in
          try slice.next(from: Journal(connection: $0))
        }
        var piece = [UInt8(ascii: ",")]
        piece.append(contentsOf: slice.takeText())
        if !slice.hasMore { piece.append(contentsOf: closing) }
        try await writer.write(consume piece)
      }
    }
  }
}

extension RouteParameter {
  package static let journalStart = RouteParameter(
    "since",
    in: .query,
    "Starts after this cursor; with `now`, after the last entry. Without `since`, or if the journal does not know the "
      + "cursor, the response starts at the beginning (`reset` is true).",
    schema: .cursorSchema
  )

  package static func mostEntries(_ limit: Int, _ exception: String) -> RouteParameter {
    RouteParameter(
      "limit",
      in: .query,
      "The most entries in the response. \(exception)",
      schema: ["type": "integer", "minimum": 1, "maximum": JSON(limit), "default": 100]
    )
  }
}
