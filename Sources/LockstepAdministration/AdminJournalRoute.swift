import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync
import LockstepThreading
import Synchronization

/// `GET /v1/admin/journal`: the journal of all users, oldest first. A request can wait for the next
/// entry, or get entries as server-sent events.
package final class AdminJournalRoute: Sendable {
  private static let limit = 1_000
  private static let mostLast = 100_000

  private let gate: AdministratorGate
  private let store: String
  private let modules: Modules
  private let readers: StoreReaders
  private let commits: JournalNotifier
  private let longestWait: Int
  private let monotonic: @Sendable () -> Int64
  /// See `Watcher.lease`.
  private let lease: NodeLease?

  package init(
    _ gate: AdministratorGate,
    store: String,
    modules: Modules,
    readers: StoreReaders,
    commits: JournalNotifier,
    longestWait: Int,
    monotonic: @escaping @Sendable () -> Int64,
    lease: NodeLease? = nil
  ) {
    self.gate = gate
    self.store = store
    self.modules = modules
    self.readers = readers
    self.commits = commits
    self.longestWait = longestWait
    self.monotonic = monotonic
    self.lease = lease
  }

  package var route: Route {
    Route(.get, "/v1/admin/journal", summary: "Lists the actions of all users, oldest first.") { [self] request in
      try gate.admit(request, .read) { [self] agent in try respond(to: request, by: agent) }
    }
    .described(Self.description)
  }

  /// Where a request begins.
  private enum Start: Sendable {
    case after(FeedPosition)
    /// With the entry at a place. Nil: a cursor of another store.
    case at(StoreJournal.Place?)
    /// With the last entries.
    case last(Int)
  }

  private struct Query: Sendable {
    let start: Start
    let limit: Int
    let filter: StoreJournalPage.Filter
  }

  private func respond(to request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    let query = try request.query
    let isStream = request.head.wantsEventStream
    let user = try query.text("user").map { text throws(Problem) in
      guard let user = UserID(text) else {
        throw Problem(.invalidParameter, detail: "The parameter “user” must be the id of a user.")
      }
      return user
    }
    let asked = Query(
      start: try start(query, request.lastEventID),
      limit: try query.integer("limit", in: 1...Self.limit) ?? 100,
      filter: StoreJournalPage.Filter(
        user: user,
        collection: try query.text("collection").map { text throws(Problem) in
          try CollectionName(text[...], of: modules.current)
        }
      )
    )
    let wait = try WaitPreference(of: request, query, upTo: longestWait)
    return .async { [self] in
      // Read before the journal, so that a commit in between counts as new.
      let seen = commits.count
      let (page, isReset) = try await first(asked)
      let hasCursor = if case .after(.cursor) = asked.start { true } else { false }
      if isStream { return try stream(request, asked, page, seen, isReset: isReset && hasCursor, by: agent) }
      let mayWait = hasCursor && !isReset
      guard let wait, mayWait, wait.seconds > 0, page.entries.isEmpty, !page.isPart else {
        return .response(response(page, isReset, wait))
      }
      return try park(request, asked, page, seen, wait, by: agent)
    }
  }

  private func start(_ query: QueryParameters, _ resumed: String?) throws(Problem) -> Start {
    let (since, from) = (try query.text("since"), try query.text("from"))
    let last = try query.integer("last", in: 1...Self.mostLast)
    guard [since != nil, from != nil, last != nil].count(where: { $0 }) <= 1 else {
      throw Problem(.invalidParameter, detail: "Send only one of the parameters “since”, “from” and “last”.")
    }
    if let resumed { return .after(try FeedPosition(resumed)) }
    if let last { return .last(last) }
    guard let from else { return .after(try FeedPosition(since)) }
    guard let (place, isOfStore) = StoreJournal.Place.read(from, store: store), place.number > 0 else {
      throw Problem(
        .invalidParameter,
        detail: "The parameter “from” must be the cursor of an entry: the id of an event."
      )
    }
    return .at(isOfStore ? place : nil)
  }

  // MARK: Reading

  /// The first page of a request. `isReset` is true if the page starts at the beginning of the
  /// journal: the request has no cursor, or the journal does not know it.
  private func first(_ query: Query) async throws -> (StoreJournalPage, isReset: Bool) {
    let (page, isReset) = try await readFirst(query)
    if page.hasHiddenEntries { commits.noteHiddenEntries() }
    return (page, isReset)
  }

  private func readFirst(_ query: Query) async throws -> (StoreJournalPage, isReset: Bool) {
    try await readers.read(length: .long) { [store] connection in
      let journal = StoreJournal(connection: connection)
      var (place, isReset) = (StoreJournal.Place.beginning, true)
      switch query.start {
      case .after(.beginning), .at(nil): break
      case .after(.now): (place, isReset) = (try journal.end(), false)
      case .last(let count): (place, isReset) = (try journal.place(beforeLast: count), false)
      case .at(let entry?):
        guard try journal.knows(entry) else { break }
        (place, isReset) = (entry.moved(back: 1), false)
      case .after(.cursor(_, let text)):
        guard let (asked, isOfStore) = StoreJournal.Place.read(text, store: store), isOfStore,
          try journal.knows(asked)
        else { break }
        (place, isReset) = (asked, false)
      }
      return (
        try StoreJournalPage(after: place, limit: query.limit, query.filter, from: journal, store: store), isReset
      )
    }
  }

  /// The page after a place that the client has; nil if the database has lost the place in a failover.
  private func next(after place: StoreJournal.Place, _ query: Query) async throws -> StoreJournalPage? {
    let page: StoreJournalPage? = try await readers.read(length: .long) { [store] in
      let journal = StoreJournal(connection: $0)
      guard try journal.knows(place) else { return nil }
      return try StoreJournalPage(after: place, limit: query.limit, query.filter, from: journal, store: store)
    }
    if page?.hasHiddenEntries == true { commits.noteHiddenEntries() }
    return page
  }

  private func response(_ page: StoreJournalPage, _ isReset: Bool, _ wait: WaitPreference?) -> Response {
    var fields = HeaderFields([.contentType: "application/json", .cacheControl: "no-store"])
    fields.append(.vary, "Authorization, Prefer, Accept")
    if let wait { fields.append(.preferenceApplied, wait.appliedField) }
    var body = Array(#"{"cursor":"\#(page.end.text(in: store))","reset":\#(isReset),"entries":["#.utf8)
    for (index, entry) in page.entries.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body += entry.text
    }
    body.append(contentsOf: "]}".utf8)
    return Response(status: .ok, fields: fields, body: .bytes(body))
  }

  // MARK: Waiting

  private func watch(_ request: Request, _ agent: LiveServiceToken, seen: Int) throws(Problem) -> CommitWatcher {
    guard let seat = commits.seat(WaitingRequest(request, by: agent.id)) else {
      throw Problem.tooManyWaits(
        "Too many requests wait for the journal already. End one of them, or send the request without “wait”."
      )
    }
    return CommitWatcher(agent: agent, seat: seat, lease: lease, commits: commits, seen: seen)
  }

  private func park(
    _ request: Request,
    _ query: Query,
    _ page: StoreJournalPage,
    _ seen: Int,
    _ wait: WaitPreference,
    by agent: LiveServiceToken
  ) throws -> HandlerResult {
    let watcher = try watch(request, agent, seen: seen)
    let place = LockedState(page.end)
    let poll = LongPoll(deadline: wait.deadline(for: request), watcher) { [self] poll, isLast in
      if agent.isEnded { throw Problem.serviceTokenEnded }
      // The deadline may pass before a commit is seen, so the last check also reads the journal.
      guard watcher.take() || isLast else { return .parked(poll) }
      return .async { [self] in
        guard let page = try await next(after: place.withLock { $0 }, query) else {
          let (page, isReset) = try await first(query)
          return .response(response(page, isReset, wait))
        }
        place.withLock { $0 = page.end }
        if page.entries.isEmpty, !isLast { return .parked(poll) }
        return .response(response(page, false, wait))
      }
    }
    return .parked(poll)
  }

  // MARK: Streaming

  private func stream(
    _ request: Request,
    _ query: Query,
    _ page: StoreJournalPage,
    _ seen: Int,
    isReset: Bool,
    by agent: LiveServiceToken
  ) throws -> HandlerResult {
    let watcher = try watch(request, agent, seen: seen)
    let feed = JournalEvents(isReset: isReset, watcher, store: store) { [self] place in
      // The client starts over when it connects again.
      guard let page = try await next(after: place, query) else { throw CancellationError() }
      return page
    }
    return .events(of: feed, first: page, watcher, monotonic: monotonic)
  }

  private static var description: RouteDescription {
    let (name, entry) = entrySchema
    let body = JSON.schema([
      "cursor": .cursorSchema, "reset": ["type": "boolean"], "entries": .arraySchema(of: .reference(name)),
    ])
    return .administration(
      "getStoreJournal",
      parameters: [
        RouteParameter("user", in: .query, "Only the entries of the user with this id.", schema: .uuidSchema),
        RouteParameter(
          "collection",
          in: .query,
          "Only the entries of a module, such as `defaults`, or of one collection, such as `defaults/standard`.",
          schema: .textSchema
        ),
        .journalStart,
        RouteParameter(
          "from",
          in: .query,
          "Starts with the entry that has this cursor, instead of `since`. The id of an event is the cursor of its entry.",
          schema: .cursorSchema
        ),
        RouteParameter(
          "last",
          in: .query,
          "Starts with the last entries, instead of `since`: at most this many, before the filters.",
          schema: ["type": "integer", "minimum": 1, "maximum": JSON(mostLast)]
        ),
        .mostEntries(
          limit,
          "Before the end of the journal, a response can have fewer entries, or none. A request with `wait` waits only "
            + "at the end."
        ),
        .lastEventID,
      ] + RouteParameter.waiting,
      responses: [
        RouteResponse(
          .ok,
          "The entries up to `cursor`. With `Accept: text/event-stream`, an event `entry` for each. If the journal does "
            + "not know the cursor, an event `reset` comes first.",
          fields: [.cacheControl, .vary, .preferenceApplied],
          content: [("application/json", body), ("text/event-stream", .textSchema)]
        )
      ],
      schemas: .shared((name, entry), JournalRoute.entrySchema, SharedSchema.mutation)
    )
  }

  private static let entrySchema: (String, JSON) = (
    "StoreJournalEntry",
    [
      "allOf": [
        .reference("JournalEntry"), .schema(["user": .uuidSchema], optional: ["device": .textSchema]),
      ]
    ]
  )
}

/// Tracks whether there were commits since a request last read the journal.
final class CommitWatcher: Watcher {
  let agent: LiveServiceToken
  let seat: WaiterSeat
  let lease: NodeLease?
  private let commits: JournalNotifier
  private let seen: Atomic<Int>

  init(agent: LiveServiceToken, seat: WaiterSeat, lease: NodeLease?, commits: JournalNotifier, seen: Int) {
    (self.agent, self.seat, self.lease) = (agent, seat, lease)
    self.commits = commits
    self.seen = Atomic(seen)
  }

  var isEnded: Bool { agent.isEnded }
  var hasChanged: Bool { isEnded || commits.count != seen.load(ordering: .relaxed) }

  /// Whether there were commits since the last call. Call it before the journal is read.
  func take() -> Bool {
    let count = commits.count
    return seen.exchange(count, ordering: .relaxed) != count
  }
}
