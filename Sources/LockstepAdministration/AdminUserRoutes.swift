import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync
import LockstepTime

/// `/v1/admin/users`: lists, adds, changes and erases users, with the code of `lockstep user`.
package struct AdminUserRoutes: Sendable {
  private static let pattern = "/v1/admin/users"
  static let mostUsers = 1_000

  private let gate: AdministratorGate
  private let store: String
  private let accounts: StoredAccounts
  private let ledger: AccountsLedger
  private let readers: UserReaders
  private let cache: StateCache
  private let waiters: WaiterRegistry<UserID>
  private let now: @Sendable () -> Timestamp
  private let load: @Sendable (UserID, StoreConnection) throws -> UserState

  /// `load` reads a user's state from the store.
  package init(
    _ gate: AdministratorGate,
    _ reading: StateReader,
    _ accounts: StoredAccounts,
    _ ledger: AccountsLedger,
    now: @escaping @Sendable () -> Timestamp,
    load: @escaping @Sendable (UserID, StoreConnection) throws -> UserState
  ) {
    self.gate = gate
    self.accounts = accounts
    self.ledger = ledger
    (store, readers, cache) = (reading.store, reading.readers, reading.cache)
    waiters = reading.waiting.waiters
    self.now = now
    self.load = load
  }

  package var routes: [Route] {
    let (limit, newPassword) = (
      AuthenticationRoutes.bodyLimit, JSON.newPasswordSchema(accounts.configuration.passwordRules)
    )
    return [
      Route(.get, Self.pattern, summary: "Lists users.") { request in
        try gate.admit(request, .read) { _ in try list(request) }
      }
      .described(Self.listing),
      Route(.post, Self.pattern, summary: "Adds a user, even if registration is closed.", bodyLimit: limit) { request in
        try gate.admit(request, .users) { agent in try request.withBody { try add(request, $0, by: agent) } }
      }
      .described(Self.adding(newPassword)),
      Route(.get, RouteParameter.userPath, summary: "Shows a user.") { request in
        try gate.admit(request, .read) { _ in
          let preconditions = try Preconditions(of: request.head)
          return .making(Problem.init(accounts:)) {
            try await item(try request.user).document.response(preconditions)
          }
        }
      }
      .described(Self.showing),
      Route(.patch, RouteParameter.userPath, summary: "Changes a user.", bodyLimit: limit) { request in
        try gate.admit(request, .users) { agent in try request.withBody { try change(request, $0, by: agent) } }
      }
      .described(Self.changing(newPassword)),
      Route(.delete, RouteParameter.userPath, summary: "Erases a user and all of their data.") { request in
        try gate.admit(request, .users) { agent in try erase(request, by: agent) }
      }
      .described(Self.erasing),
    ]
  }

  // MARK: Reading

  /// A user with the size of their state.
  struct Item: Sendable {
    static let format = ValueFormat<Item>(
      .member("id", .uuid) { "\($0.listing.user.id)" },
      .member("email", .nullableText) { $0.listing.user.email },
      .member("emailVerified", .flag) { $0.listing.user.isEmailVerified },
      .optional("anonymous", .flag) { $0.listing.user.isAnonymous ? true : nil },
      .optional("identity", .identity) { $0.listing.identity },
      .member("createdAt", .time) { $0.listing.user.createdAt },
      .member("disabled", .flag) { $0.listing.disabledAt != nil },
      .member("revision", .count) { $0.revision },
      .optional("lastSeenAt", .time) { $0.listing.lastSeenAt },
      .member("bytes", .count) { $0.bytes },
      .member("keyBytes", .count) { $0.keyBytes }
    )

    var listing: UserListing
    var revision = 0
    /// The size of the state as quotas count it.
    var bytes = 0
    /// The size of the records of idempotency keys.
    var keyBytes = 0

    init(_ listing: UserListing, _ state: UserState, keyBytes: Int = 0) {
      self.listing = listing
      self.keyBytes = keyBytes
      revision = state.revision.number
      bytes = state.collections.values.reduce(0) { $0 + $1.bytes }
    }

    var json: JSON { Self.format.encode(self) }

    var document: PrivateDocument {
      PrivateDocument(json, passingOver: ["lastSeenAt", "keyBytes"], hidden: listing.passwordVersion)
    }
  }

  private func list(_ request: Request) throws -> HandlerResult {
    let query = try request.query
    let (prefix, after) = (try query.text("prefix") ?? "", try query.text("after"))
    let limit = try query.integer("limit", in: 1...Self.mostUsers) ?? 100
    let preconditions = try Preconditions(of: request.head)
    let last = try after.map { text throws(Problem) in
      guard let id = UserID(text) else { throw Self.unknown(text) }
      return id
    }
    return .making(Problem.init(accounts:)) {
      let page = try await page(prefix, after: last, limit: limit + 1)
      var items: [JSON] = []
      for listing in page.prefix(limit) { items.append(try await item(listing).json) }
      var response = try PrivateDocument(["items": .array(items)]).response(preconditions)
      if page.count > limit {
        var parameters = ["limit=\(limit)", "after=\(page[limit - 1].user.id)"]
        if !prefix.isEmpty { parameters.append("prefix=\(PercentEncoding.text(prefix))") }
        response.fields.append(.link, "<\(Self.pattern)?\(parameters.joined(separator: "&"))>; rel=\"next\"")
      }
      return response
    }
  }

  private func page(_ prefix: String, after last: UserID?, limit: Int) async throws -> [UserListing] {
    let now = now()
    let page = try await accounts.read { connection -> [UserListing]? in
      guard !prefix.isEmpty else { return try UserListing.page(after: last, limit: limit, from: connection, at: now) }
      let account = try last.flatMap { try UserRecords(connection: connection).account($0) }
      if last != nil, account == nil { return nil }
      return try UserListing.page(
        withPrefix: prefix,
        after: account?.emailKey,
        limit: limit,
        from: connection,
        at: now
      )
    }
    guard let page else { throw Self.unknown(last.map { "\($0)" } ?? "") }
    return page
  }

  private static func unknown(_ id: String) -> Problem {
    Problem(
      .invalidParameter,
      detail: "There is no user with the id “\(id)” to start after. If the user was erased, start without “after”."
    )
  }

  private func item(_ user: UserID) async throws -> Item {
    guard let item = try await existing(user) else { throw AccountsError.noSuchUser }
    return item
  }

  private func existing(_ user: UserID) async throws -> Item? {
    let now = now()
    guard let listing = try await accounts.read({ try UserListing.of(user, from: $0, at: now) }) else { return nil }
    return try await item(listing)
  }

  private func item(_ listing: UserListing) async throws -> Item {
    let user = listing.user.id
    return Item(listing, try await state(of: user), keyBytes: try await keyBytes(of: user))
  }

  private func keyBytes(of user: UserID) async throws -> Int {
    try await readers.read(for: user, from: nil) { try IdempotencyRecords(connection: $0).bytes(of: user) }
  }

  /// Reads the user's state without caching it, because administrators read most states only once.
  private func state(of user: UserID) async throws -> UserState {
    if let cached = cache.state(of: user) { return cached.state }
    return try await readers.read(for: user, from: nil) { [load] in try load(user, $0) }
  }

  // MARK: Writing

  private func add(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let (email, password) = (reader.text("email") ?? "", Password(reader.text("password") ?? ""))
    reader.add(accounts.faults(adding: email, password))
    try reader.finishProblem()
    let key = try IdempotencyKey(of: request, body: body, secret: request.token).map {
      AccountsLedger.Key(key: $0, owner: agent.keyOwner)
    }
    return .making(Problem.init(accounts:)) {
      let keyed = try await ledger.commit(
        key: key,
        by: agent,
        prepare: { () throws(AccountsError) in try await accounts.prepareAdding(email: email, password: password) },
        committed: { gate.log("add user", "\($0.id)", agent.name) },
        response: { added in
          // The record has no personal data, because it is not erased with the user.
          let recorded = StoredResponse(status: Status.created.code, fields: [], body: Array("\(added.id)".utf8))
          return (StoredResponse(Self.created(Item(UserListing(new: added), UserState()))), recorded: recorded)
        },
        refusal: { $0.lastingRefusal(of: key) }
      )
      guard keyed.isReplay, keyed.response.status == Status.created.code else { return Response(keyed) }
      // The record has only the id, so the response has the user as they are now.
      let id = keyed.response.body.flatMap { UserID(String(decoding: $0, as: UTF8.self)) }
      guard let id, let present = try await existing(id) else {
        throw Problem(
          .conflict,
          detail:
            "An earlier request with this Idempotency-Key added the user, who was erased later. To add the user again, use a "
            + "new key."
        )
      }
      return Response(KeyedResponse(response: StoredResponse(Self.created(present)), isReplay: true))
    }
  }

  /// The response with a new user.
  private static func created(_ item: Item) -> Response {
    var response = item.document.changed
    response.status = .created
    response.fields.append(.location, "\(pattern)/\(item.listing.user.id)")
    return response
  }

  private func change(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    guard try BodyType(of: request.head) != .jsonPatch else {
      throw Problem(.unsupportedMediaType, detail: "Send the members to change as JSON or as a merge patch.")
    }
    var reader = PayloadReader(try JSON(body: body))
    var change = StoredAccounts.AccountChange()
    if reader.value("disabled") != nil { change.isDisabled = reader.flag("disabled") }
    if reader.value("email") != nil { change.email = reader.text("email") }
    if reader.value("password") != nil { change.password = reader.text("password").map { Password($0) } }
    reader.add(accounts.faults(in: change))
    try reader.finishProblem()
    let (user, preconditions) = (try request.user, try Preconditions(of: request.head))
    let session = LiveSession(of: user, for: agent)
    let key = try IdempotencyKey(of: request, body: body, secret: request.token).map {
      AccountsLedger.Key(key: $0.owned(by: session), owner: .user(user))
    }
    let now = now()
    return .making(Problem.init(accounts:)) { [change] in
      let (state, keyBytes) = (try await state(of: user), try await keyBytes(of: user))
      let listing = { @Sendable (connection: StoreConnection) throws in
        guard let found = try UserListing.of(user, from: connection, at: now) else { throw AccountsError.noSuchUser }
        return Item(found, state, keyBytes: keyBytes)
      }
      return Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            try await accounts.prepareChange(of: user, change) { try check(preconditions, listing($0), $0) }
              .returning(listing)
          },
          committed: { _ in gate.log("change user", "\(user)", agent.name) },
          response: { (StoredResponse($0.document.changed), recorded: StoredResponse($0.document.changed)) },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  private func erase(_ request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    let (user, preconditions) = (try request.user, try Preconditions(of: request.head))
    let key = try IdempotencyKey(of: request, body: []).map { AccountsLedger.Key(key: $0, owner: agent.keyOwner) }
    let now = now()
    return .making(Problem.init(accounts:)) {
      let state = preconditions.isEmpty ? UserState() : try await state(of: user)
      return Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            accounts.prepareErase(of: user).checked { connection in
              guard !preconditions.isEmpty, let found = try UserListing.of(user, from: connection, at: now) else {
                return
              }
              try check(preconditions, Item(found, state), connection)
            }
          },
          committed: {
            cache.forget(user)
            // The end of a session notifies the user's requests, but the user may have no session.
            waiters.wake(user)
            gate.log("erase user", "\(user)", agent.name)
          },
          response: { (StoredResponse(.done), recorded: StoredResponse(.done)) },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  /// Checks the preconditions of a write in its transaction. The item's state was read before.
  private func check(_ preconditions: Preconditions, _ item: Item, _ connection: StoreConnection) throws {
    guard !preconditions.isEmpty else { return }
    var item = item
    let last = try Journal(connection: connection).lastRevision(of: item.listing.user.id)
    item.revision = last.number
    try item.document.check(preconditions, orStateAt: Cursor(store: store, revision: last))
  }
}

extension Request {
  /// The user that the path names.
  var user: UserID {
    get throws(Problem) {
      guard let id = UserID(parameters[AgentAuthenticator.user] ?? "") else { throw Problem(AccountsError.noSuchUser) }
      return id
    }
  }
}
