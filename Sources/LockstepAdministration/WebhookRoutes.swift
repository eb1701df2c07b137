import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync
import LockstepTime
import LockstepWebhooks

/// `/v1/admin/webhooks`: the webhooks and their deliveries.
package struct WebhookRoutes: Sendable {
  static let pattern = "/v1/admin/webhooks"
  static let mostDeliveries = 1_000
  /// The last number of a delivery that a page can begin after: the largest one that every reader of
  /// JSON takes exactly.
  static let lastDelivery = 9_007_199_254_740_991

  private let gate: AdministratorGate
  private let ledger: AccountsLedger
  private let readers: StoreReaders
  private let flag: StateEventFlag
  private let worker: DeliveryWorker
  private let refusesHost: @Sendable (String) -> Bool
  private let now: @Sendable () -> Timestamp

  /// `refusesHost` says whether the host of a URL is an address to which the server sends nothing.
  package init(
    _ gate: AdministratorGate,
    _ ledger: AccountsLedger,
    readers: StoreReaders,
    flag: StateEventFlag,
    worker: DeliveryWorker,
    refusesHost: @escaping @Sendable (String) -> Bool,
    now: @escaping @Sendable () -> Timestamp
  ) {
    (self.gate, self.ledger, self.readers, self.flag) = (gate, ledger, readers, flag)
    (self.worker, self.refusesHost, self.now) = (worker, refusesHost, now)
  }

  package var routes: [Route] {
    [
      Route(.get, Self.pattern, summary: "Lists the webhooks.") { request in
        try gate.admit(request, .read) { _ in try list(request) }
      }
      .described(Self.listing),
      Route(.get, "\(Self.pattern)/{name}", summary: "Shows a webhook, without its secret.") { request in
        try gate.admit(request, .read) { _ in try show(request) }
      }
      .described(Self.showing),
      Route(
        .put,
        "\(Self.pattern)/{name}",
        summary: "Adds or changes a webhook, and enables it if it is disabled.",
        bodyLimit: AuthenticationRoutes.bodyLimit
      ) { request in
        try gate.admit(request, .admin) { agent in try request.withBody { try put(request, $0, by: agent) } }
      }
      .described(Self.putting),
      Route(.delete, "\(Self.pattern)/{name}", summary: "Deletes a webhook and its deliveries.") { request in
        try gate.admit(request, .admin) { agent in try delete(request, by: agent) }
      }
      .described(Self.deletion),
      Route(.get, "\(Self.pattern)/{name}/deliveries", summary: "Lists deliveries, newest first.") { request in
        try gate.admit(request, .read) { _ in try deliveries(request) }
      }
      .described(Self.listingDeliveries),
      Route(
        .post,
        "\(Self.pattern)/{name}/deliveries/{id}/resend",
        summary: "Sends a delivery again. If it is queued, makes it due now."
      ) { request in
        try gate.admit(request, .admin) { agent in try request.withBody { try resend(request, $0, by: agent) } }
      }
      .described(Self.resending),
    ]
  }

  private static func name(in request: Request) -> String { request.parameters["name"] ?? "" }

  // MARK: Reading

  private func list(_ request: Request) throws -> HandlerResult {
    let preconditions = try Preconditions(of: request.head)
    return .making(Problem.init(accounts:)) {
      let documents = try await readers.read(length: .long) { connection in
        try WebhookRecords(connection: connection).all().map { try WebhookDocument($0, in: connection).document }
      }
      return try PrivateDocument(["items": .array(documents.map(\.json))]).response(preconditions)
    }
  }

  private func show(_ request: Request) throws -> HandlerResult {
    let (name, preconditions) = (Self.name(in: request), try Preconditions(of: request.head))
    return .making(Problem.init(accounts:)) {
      let document = try await readers.read(length: .long) { connection in
        try WebhookRecords(connection: connection).webhook(named: name)
          .map { try WebhookDocument($0, in: connection).document }
      }
      guard let document else { throw Problem(AccountsError.noSuchWebhook) }
      return try document.response(preconditions)
    }
  }

  private func deliveries(_ request: Request) throws -> HandlerResult {
    let (name, query) = (Self.name(in: request), try request.query)
    let limit = try query.integer("limit", in: 1...Self.mostDeliveries) ?? 100
    let after = try query.integer("after", in: 1...Self.lastDelivery)
    let filter = try query.text("status")
    let status = filter.flatMap { DeliveryStatus(name: $0) }
    if filter != nil, status == nil {
      let names = DeliveryStatus.allCases.map(\.name).joined(separator: ", ")
      throw Problem(.invalidParameter, detail: "The parameter “status” must be one of \(names).")
    }
    return .making(Problem.init(accounts:)) {
      let page = try await readers.read { connection in
        try WebhookRecords(connection: connection).webhook(named: name)
          .map { webhook in
            try DeliveryRecords(connection: connection)
              .page(of: webhook.id, status, before: after ?? .max, limit: limit + 1)
          }
      }
      guard let page else { throw Problem(AccountsError.noSuchWebhook) }
      let items = page.prefix(limit).map { DeliveryListing.format.encode($0) }
      var response = Response.json(["items": .array(items)], cacheControl: "no-store")
      if page.count > limit {
        let filter = filter.map { "status=\($0)&" } ?? ""
        let next = "\(request.head.path)?\(filter)limit=\(limit)&after=\(page[limit - 1].number)"
        response.fields.append(.link, "<\(next)>; rel=\"next\"")
      }
      return response
    }
  }

  // MARK: Writing

  private struct Put: Sendable {
    let document: WebhookDocument
    let isNew: Bool
    /// The secret that this server has made.
    let newSecret: WebhookSecret?
  }

  private func key(_ request: Request, _ body: [UInt8], _ agent: LiveServiceToken) throws -> AccountsLedger.Key? {
    try IdempotencyKey(of: request, body: body).map { AccountsLedger.Key(key: $0, owner: agent.keyOwner) }
  }

  private func put(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    let name = Self.name(in: request)
    if let wrong = WebhookBody.fault(ofName: name) { throw Problem(.invalidParameter, detail: wrong) }
    let preconditions = try Preconditions(of: request.head)
    let given = try WebhookBody(try JSON(readingBodyOf: request, body), name: name, refusesHost: refusesHost)
    let key = try key(request, body, agent)
    let now = now()
    return .making(Problem.init(accounts:)) {
      Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            PreparedAccountsWrite { connection in
              (try Self.put(given, name, if: preconditions, at: now, in: connection), [])
            }
          },
          committed: { put in
            flag.raise()
            worker.wake()
            gate.log(put.isNew ? "create webhook" : "change webhook", name, agent.name)
          },
          response: { put in
            let shown = StoredResponse(Self.response(put))
            guard put.newSecret != nil else { return (shown, recorded: shown) }
            return (shown, recorded: StoredResponse(Self.repeated(name).response))
          },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  private static func put(
    _ given: WebhookBody,
    _ name: String,
    if preconditions: Preconditions,
    at now: Timestamp,
    in connection: StoreConnection
  ) throws -> Put {
    let records = WebhookRecords(connection: connection)
    try records.lock()
    let known = try records.webhook(named: name)
    if let known {
      try WebhookDocument(known, in: connection).document.check(preconditions)
    } else {
      if preconditions.ifMatch != nil { throw AccountsError.missing }
      guard try records.all().count < WebhookRecords.most else { throw AccountsError.tooManyWebhooks }
    }
    let newSecret = known == nil && given.secret == nil ? WebhookSecret.make() : nil
    let secret = given.secret?.text ?? newSecret?.text ?? known?.secret ?? ""
    let stored = try records.put(name, url: given.url, events: given.events, secret: secret, at: now)
    return Put(document: try WebhookDocument(stored, in: connection), isNew: known == nil, newSecret: newSecret)
  }

  private static func response(_ put: Put) -> Response {
    let document = put.document.document
    var shown = document.json.objectValue ?? JSONObject()
    if let secret = put.newSecret { shown["secret"] = .string(secret.text) }
    var response = Response.json(.object(shown), status: put.isNew ? .created : .ok, cacheControl: "no-store")
    response.fields.append(.etag, "\"\(document.tag)\"")
    if put.isNew { response.fields.append(.location, "\(pattern)/\(put.document.record.name)") }
    return response
  }

  /// The response to a repeated request that had no secret: the recorded one must not contain the
  /// secret.
  private static func repeated(_ name: String) -> Problem {
    Problem(
      .conflict,
      detail: "An earlier request with this Idempotency-Key has created the webhook \(name). Its secret was in that "
        + "response only. If you do not have it, PUT the webhook with a secret of your own."
    )
  }

  private func delete(_ request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    let (name, preconditions) = (Self.name(in: request), try Preconditions(of: request.head))
    let key = try key(request, [], agent)
    return .making(Problem.init(accounts:)) {
      Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            PreparedAccountsWrite { connection in
              let records = WebhookRecords(connection: connection)
              try records.lock()
              guard let known = try records.webhook(named: name) else { throw AccountsError.noSuchWebhook }
              try WebhookDocument(known, in: connection).document.check(preconditions)
              _ = try records.delete(name)
              return ((), [])
            }
          },
          committed: {
            worker.wake()
            gate.log("delete webhook", name, agent.name)
          },
          response: { (StoredResponse(.done), recorded: StoredResponse(.done)) },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  private func resend(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    let name = Self.name(in: request)
    let id = request.parameters["id"].flatMap { WebhookEventID($0) }
    let key = try key(request, body, agent)
    let now = now()
    return .making(Problem.init(accounts:)) {
      let accepted = StoredResponse(Response(status: .accepted, fields: HeaderFields([.cacheControl: "no-store"])))
      return Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            PreparedAccountsWrite { connection in
              let webhooks = WebhookRecords(connection: connection)
              guard let webhook = try webhooks.webhook(named: name) else { throw AccountsError.noSuchWebhook }
              let records = DeliveryRecords(connection: connection)
              guard let id, try records.resend(id, of: webhook.id, at: now) else { throw AccountsError.noSuchDelivery }
              try webhooks.resume(webhook.id)
              return ((), [])
            }
          },
          committed: {
            worker.wake()
            gate.log("resend delivery", "\(name)/\(id.map { "\($0)" } ?? "")", agent.name)
          },
          response: { (accepted, recorded: accepted) },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }
}
