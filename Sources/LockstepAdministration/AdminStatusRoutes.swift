import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepIdentity
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepTime

/// `/v1/admin/waits`, `/v1/admin/status` and `/v1/admin/nodes`.
package struct AdminStatusRoutes: Sendable {
  /// The server as it is described to administrators.
  package struct Node: Sendable {
    package var id: String
    package var address: String
    package var startedAt: Timestamp
    /// The settings, without secrets.
    package var configuration: JSON
    package var storeSize: @Sendable () -> StoreSize?
    package var backups: BackupScheduler?
    /// Reads the servers of the store; nil if this one is alone.
    package var all: (@Sendable () async throws -> [NodeRecord])?

    package init(
      id: String,
      address: String,
      startedAt: Timestamp,
      configuration: JSON,
      storeSize: @escaping @Sendable () -> StoreSize?,
      backups: BackupScheduler?,
      all: (@Sendable () async throws -> [NodeRecord])? = nil
    ) {
      self.id = id
      self.address = address
      self.startedAt = startedAt
      self.configuration = configuration
      self.storeSize = storeSize
      self.backups = backups
      self.all = all
    }
  }

  private let gate: AdministratorGate
  private let node: Node
  private let waiters: WaiterRegistry<UserID>
  private let commits: JournalNotifier
  private let screens: ScreenDirectory?
  private let issuers: @Sendable () -> [IssuerStatus]
  private let clock: MonotonicTimeConverter
  private let uptimeSeconds: @Sendable () -> Double

  package init(
    _ gate: AdministratorGate,
    _ node: Node,
    waiters: WaiterRegistry<UserID>,
    commits: JournalNotifier,
    screens: ScreenDirectory?,
    issuers: @escaping @Sendable () -> [IssuerStatus],
    clock: MonotonicTimeConverter,
    uptimeSeconds: @escaping @Sendable () -> Double
  ) {
    self.gate = gate
    self.node = node
    self.waiters = waiters
    self.commits = commits
    self.screens = screens
    self.issuers = issuers
    self.clock = clock
    self.uptimeSeconds = uptimeSeconds
  }

  package var routes: [Route] {
    [
      Route(.get, "/v1/admin/waits", summary: "Lists the requests that wait, oldest first.") { request in
        try gate.admit(request, .read) { _ in .response(try AdminPage(of: request, waits).response(item)) }
      }
      .described(
        .administration(
          "listWaits",
          parameters: AdminPages.parameters,
          responses: [
            AdminPages.described(
              .schema([
                "user": ["type": ["string", "null"]], "resource": .textSchema, "since": .timeSchema,
                "address": .textSchema, "userAgent": .nullableTextSchema,
              ])
            )
          ]
        )
      ),
      Route(.get, "/v1/admin/status", summary: "The version, the store, the backups, the issuers and the settings.") {
        request in
        try gate.admit(request, .read) { _ in .response(.json(status, cacheControl: "no-store")) }
      }
      .described(Self.statusDescription),
      Route(.get, "/v1/admin/nodes", summary: "Lists the servers of the store.") { request in
        try gate.admit(request, .read) { _ in
          .async { .response(.json(try await nodes(), cacheControl: "no-store")) }
        }
      }
      .described(
        .administration(
          "listNodes",
          responses: [
            RouteResponse(
              .ok,
              "The servers. A server without a fleet lists only itself, with `leaseUntil` null.",
              fields: [.cacheControl],
              json: .schema([
                "items": .arraySchema(
                  of: .schema([
                    "id": .textSchema, "address": .nullableTextSchema, "startedAt": .timeSchema,
                    "leaseUntil": ["type": ["string", "null"]], "version": .textSchema,
                  ])
                )
              ])
            )
          ]
        )
      ),
    ]
  }

  // MARK: Waits

  private var waits: [(user: UserID?, request: WaitingRequest)] {
    var all = waiters.requests.map { (user: Optional($0.key), request: $0.request) }
    all += commits.requests.map { (user: nil, request: $0) }
    if let screens {
      let users = Dictionary(screens.open.map { ($0.id.exact, $0.session?.user) }) { first, _ in first }
      all += screens.waiters.requests.map { (user: users[$0.key] ?? nil, request: $0.request) }
    }
    return all.sorted { $0.request.arrival < $1.request.arrival }
  }

  private func item(_ wait: (user: UserID?, request: WaitingRequest)) -> JSON {
    let head = wait.request.head
    return [
      "user": wait.user.map { .string("\($0)") } ?? .null, "resource": .string(head.pathWithoutSecrets),
      "since": .string(clock.time(of: wait.request.arrival).description), "address": .string(wait.request.address),
      "userAgent": head[.userAgent].map(JSON.string) ?? .null,
    ]
  }

  // MARK: Status

  private var status: JSON {
    let size = node.storeSize()
    var backups: JSON = .null
    if let metrics = node.backups?.metrics {
      backups = [
        "made": .integer(Int64(metrics.made)), "failures": .integer(Int64(metrics.failures)),
        "last": metrics.last.map { .string(Timestamp(millisecondsSince1970: $0).description) } ?? .null,
        "bytes": .integer(Int64(metrics.bytes)),
      ]
    }
    return [
      "version": .string(lockstepVersion), "uptimeSeconds": .integer(Int64(uptimeSeconds())),
      "storeBytes": size.map { .integer(Int64($0.bytes + $0.logBytes)) } ?? .null, "backups": backups,
      "issuers": .array(issuers().map { Self.issuer.encode($0) }), "configuration": node.configuration,
    ]
  }

  private static let issuer = ValueFormat<IssuerStatus>(
    .member("issuer", .text, \.issuer),
    .member("keys", .count, \.keyCount),
    .optional("fetchedAt", .time, \.fetchedAt),
    .member("failures", .count, \.failureCount),
    .optional("failure", .text, \.lastFailure)
  )

  private static var statusDescription: RouteDescription {
    let backups = JSON.schema([
      "made": ["type": "integer"], "failures": ["type": "integer"], "last": ["type": ["string", "null"]],
      "bytes": ["type": "integer"],
    ])
    return .administration(
      "getStatus",
      responses: [
        RouteResponse(
          .ok,
          "The status. `backups` is null if the server makes none. `issuers` has the keys of the issuers whose tokens are "
            + "accepted: `failure` says why the last fetch failed.",
          fields: [.cacheControl],
          json: .schema([
            "version": .textSchema, "uptimeSeconds": ["type": "integer", "minimum": 0],
            "storeBytes": ["type": ["integer", "null"], "minimum": 0],
            "backups": ["anyOf": [backups, ["type": "null"]]], "issuers": .arraySchema(of: issuer.schema),
            "configuration": ["type": "object"],
          ])
        )
      ]
    )
  }

  private func nodes() async throws -> JSON {
    let own = NodeRecord(
      id: node.id,
      address: node.address,
      version: lockstepVersion,
      startedAt: node.startedAt,
      leaseUntil: nil
    )
    let all = try await node.all?() ?? [own]
    return ["items": .array(all.map(json))]
  }

  private func json(_ node: NodeRecord) -> JSON {
    [
      "id": .string(node.id), "address": node.address.map(JSON.string) ?? .null,
      "startedAt": .string(node.startedAt.description),
      "leaseUntil": node.leaseUntil.map { .string($0.description) } ?? .null, "version": .string(node.version),
    ]
  }
}
