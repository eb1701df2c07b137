import Glibc
import LockstepCollections
import LockstepJSON
import LockstepLogging
import LockstepPostgreSQL
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepStore
@testable import LockstepWebhooks

/// A store with webhooks, a clock that only the test moves, and receivers that are closures.
final class DeliveryFixture: Sendable {
  /// Milliseconds since 1970 at the start.
  static let start: Int64 = 1_800_000_000_000

  private let folder: TemporaryDirectory
  /// Nil for a store in SQLite.
  private let database: String?
  private let time = LockedState(DeliveryFixture.start)
  private let openStores = LockedState<[DurableStore]>([])
  let receiver = StubReceiver()

  init() throws {
    folder = try TemporaryDirectory()
    let server = Self.variable("LOCKSTEP_TEST_STORE") == "postgresql" ? Self.variable("LOCKSTEP_TEST_POSTGRESQL") : nil
    database = try server.map { server in
      let schema = "webhooks_\(UInt64.random(in: 0 ... .max))"
      try PostgreSQLConnection(server).execute("CREATE SCHEMA \(schema)")
      return "\(server) application_name=\(schema) options='-c search_path=\(schema)'"
    }
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  var isPostgreSQL: Bool { database != nil }

  /// Runs `body` with an open store.
  static func run(_ body: (DeliveryFixture, DurableStore) async throws -> Void) async throws {
    let fixture = try DeliveryFixture()
    let store = try fixture.open()
    defer { fixture.close() }
    try await body(fixture, store)
  }

  func open() throws -> DurableStore {
    let source = TimeSource(
      monotonic: { [time] in time.withLock { $0 } * 1_000_000 },
      millisecondsSince1970: { [time] in time.withLock { $0 } }
    )
    let store =
      if let database { try DurableStore(postgreSQL: database, time: source) } else {
        try DurableStore(path: folder.file("lockstep.db"), time: source)
      }
    openStores.withLock { $0.append(store) }
    return store
  }

  func close() { for store in openStores.withLock({ $0 }) { store.close() } }

  var now: Timestamp { Timestamp(millisecondsSince1970: time.withLock { $0 }) }

  /// Moves the clock to the present.
  func moveToPresent() { time.withLock { $0 = TimeSource.system.millisecondsSince1970() } }

  func advance(seconds: Double) { time.withLock { $0 += Int64(seconds * 1_000) } }

  func worker(
    of store: DurableStore,
    others: [DeliveryWorker.OtherDestination] = [],
    secretMembers: @escaping @Sendable (ClaimedDelivery) -> JSONObject = { _ in [:] }
  ) -> DeliveryWorker {
    DeliveryWorker(
      readers: store.readers,
      writer: store.writer,
      webhooks: receiver,
      others: others,
      secretMembers: secretMembers,
      now: { self.now },
      random: { 0.5 }
    )
  }

  @discardableResult
  func put(
    _ name: String = "main",
    _ events: [WebhookEventType] = WebhookEventType.ofWebhooks,
    secret: String = WebhookSecret.make().text,
    in store: DurableStore
  ) async throws -> WebhookRecord {
    let now = now
    let record = try await store.writer.write { connection in
      let records = WebhookRecords(connection: connection)
      try records.lock()
      return try records.put(name, url: "https://\(name).example/", events: events, secret: secret, at: now)
    }
    store.writer.stateEventFlag.raise()
    return record
  }

  func webhook(_ name: String = "main", in store: DurableStore) async throws -> WebhookRecord? {
    try await store.readers.read { try WebhookRecords(connection: $0).webhook(named: name) }
  }

  /// Commits an event of a user. Its data has a number.
  func commit(_ number: Int, of user: UserID, in store: DurableStore) async throws {
    let now = now
    try await store.writer.write { connection in
      try connection.lock(user)
      let event = WebhookEvent(.stateChanged, of: user, ["revision": .integer(Int64(number))], at: now)
      try WebhookOutbox(connection: connection).add(event)
    }
  }

  /// Runs passes and attempts until nothing is due.
  func drive(_ worker: DeliveryWorker) async throws {
    while true {
      let claimed = try await worker.pass()
      for outgoing in claimed { await worker.send(outgoing) }
      // The last pass has recorded the results.
      if claimed.isEmpty { return }
    }
  }

  func deliveries(
    _ status: DeliveryStatus? = nil,
    of webhook: WebhookRecord,
    in store: DurableStore
  ) async throws -> [DeliveryListing] {
    try await store.readers.read { connection in
      try DeliveryRecords(connection: connection).page(of: webhook.id, status, before: .max, limit: 10_000)
    }
  }

  static func user(_ number: Int) -> UserID {
    UserID(UUIDv7(milliseconds: start, random12: 0, random62: UInt64(number)))
  }
}

/// Keeps what it gets, and responds as the test wants.
final class StubReceiver: DeliverySender {
  struct Arrival: Sendable, Equatable {
    let webhook: String
    let user: UserID
    let number: Int?
    let id: WebhookEventID
    let type: String
    let body: [UInt8]
    let at: Timestamp
  }

  private let received = LockedState<[Arrival]>([])
  private let accepted = LockedState<[Arrival]>([])
  private let answer = LockedState<@Sendable (Arrival) -> AttemptOutcome>({ _ in StubReceiver.done })
  static let done = AttemptOutcome(.delivered, status: 204)
  static let broken = AttemptOutcome(.failed(retryAfter: nil), status: 500)

  func respond(_ body: @escaping @Sendable (Arrival) -> AttemptOutcome) { answer.withLock { $0 = body } }

  /// Those that were not refused.
  var deliveries: [Arrival] { accepted.withLock { $0 } }

  var arrivals: [Arrival] { received.withLock { $0 } }

  func takeArrivals() -> [Arrival] {
    received.withLock { received in
      defer { received = [] }
      return received
    }
  }

  nonisolated(nonsending) func send(_ outgoing: OutgoingDelivery) async -> AttemptOutcome {
    let delivery = outgoing.delivery
    let arrival = Arrival(
      webhook: outgoing.webhook?.name ?? "",
      user: delivery.user,
      number: (outgoing.data["revision"]?.int64Value).map { Int($0) },
      id: delivery.id,
      type: delivery.type,
      body: WebhookMessage.body(type: delivery.type, at: delivery.createdAt, data: outgoing.data),
      at: outgoing.at
    )
    received.withLock { $0.append(arrival) }
    let outcome = answer.withLock { $0 }(arrival)
    if outcome.kind == .delivered { accepted.withLock { $0.append(arrival) } }
    return outcome
  }
}
