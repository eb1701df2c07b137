import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

/// Users' states on their own store, composed as the server composes them, in virtual time.
final class SyncFixture: Sendable {
  /// The parts that are created each time a server starts.
  struct Parts: Sendable {
    let store: DurableStore
    let cache: StateCache
    let registry: RegisteredLedger
    let ledger: Ledger
    let background: BackgroundEncoder
    let maintenance: HistoryMaintenance
  }

  /// Settings that a test can change.
  struct Choices: Sendable {
    var favorites = CollectionQuota()
    var defaults = DefaultsQuota()
    var history = HistoryPolicy()
    /// Modules beside the product's own.
    var modules: [UserModule] = []
    var cacheBytes = 64 * 1024 * 1024
    /// The era of new revisions.
    var era = Era.unknown
    /// Called on the reader thread before it loads a state.
    var willLoad: @Sendable (UserID) -> Void = { _ in }
    /// Called on the reader thread when it has loaded a state.
    var didLoad: @Sendable (UserID) -> Void = { _ in }
    /// Called when a state has been published, before its waiters are notified.
    var willAnnounce: @Sendable (UserID) -> Void = { _ in }
  }

  static let store = "fixture0"

  let files: StoreFixture
  let announced = Announcements()
  private let choices: Choices
  private let parts: LockedState<Parts>

  var clock: StoreClock { files.clock }
  var store: DurableStore { parts.withLock { $0.store } }
  var cache: StateCache { parts.withLock { $0.cache } }
  var registry: RegisteredLedger { parts.withLock { $0.registry } }
  var ledger: Ledger { parts.withLock { $0.ledger } }
  var background: BackgroundEncoder { parts.withLock { $0.background } }
  var maintenance: HistoryMaintenance { parts.withLock { $0.maintenance } }
  let modules: Modules

  /// The product's modules, and those of the test.
  struct Modules: Sendable {
    let favorites: CollectionQuota
    let defaults: DefaultsQuota
    let own: [UserModule]
    var all: [UserModule] {
      [.favorites(quota: favorites), DefaultsModule(quota: defaults).userModule, .profile] + own
    }
    var states: ModuleTables { ModuleTables(all) }
    var history: StateHistory { StateHistory(states: states) }
  }

  init(_ change: (inout Choices) -> Void = { _ in }) throws {
    var choices = Choices()
    change(&choices)
    self.choices = choices
    files = try StoreFixture()
    modules = Modules(favorites: choices.favorites, defaults: choices.defaults, own: choices.modules)
    parts = LockedState(try Self.open(files, modules, choices, announced))
  }

  deinit { store.close() }

  /// Closes the store and opens it again, with nothing in memory.
  func restart() throws {
    store.close()
    let parts = try Self.open(files, modules, choices, announced)
    self.parts.withLock { $0 = parts }
  }

  private static func open(
    _ files: StoreFixture,
    _ modules: Modules,
    _ choices: Choices,
    _ announced: Announcements
  ) throws -> Parts {
    let store = try files.testedStore(
      options: .init(busyTimeout: .zero, readingThreads: 1),
      migrator: Migrator(modules: choices.modules)
    )
    let time = files.clock.time
    let now: @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }
    let (states, history) = (modules.states, modules.history)
    let cache = StateCache(capacity: choices.cacheBytes, readers: UserReaders(store.readers, threads: 1)) {
      user,
      connection in
      choices.willLoad(user)
      defer { choices.didLoad(user) }
      return try states.load(user, from: connection)
    }
    let publisher = CommitPublisher()
    publisher.add(AnnouncingObserver(willAnnounce: choices.willAnnounce, announced: announced))
    let shared = LedgerEnvironment(
      writer: store.writer,
      eras: EraSource { choices.era },
      now: now,
      observer: publisher
    )
    let registry = RegisteredLedger(try store.write { try RegisteredDefaultsTable().load(from: $0) }, shared)
    let maintenance = HistoryMaintenance(
      pruning: JournalPruner(policy: choices.history, history: history),
      readers: store.readers,
      writer: store.writer,
      now: now
    )
    let background = BackgroundEncoder(try WorkerPool(name: "encode", threads: 2, capacity: 64), threads: 2)
    let ledger = Ledger(
      writer: try store.writer.writeSetWriter(of: states),
      cache: cache,
      states: states,
      registry: registry,
      maintenance: maintenance,
      sessionEndings: SessionEndingTracker(),
      background: background,
      shared
    )
    return Parts(
      store: store,
      cache: cache,
      registry: registry,
      ledger: ledger,
      background: background,
      maintenance: maintenance
    )
  }

  // MARK: Users

  /// A user with a session in the store. The same number gives the same user.
  func user(_ number: UInt64) async throws -> LiveSession {
    let session = Self.session(number)
    try await store.writer.write { try Self.insert(session, number, in: $0) }
    return session
  }

  /// Inserts the user and the session of a number, if they are not in the store.
  static func insert(_ session: LiveSession, _ number: UInt64, in connection: StoreConnection) throws {
    let account = Account(
      session.user,
      try EmailAddress("\(number)@example.com"),
      PasswordHash(""),
      at: Timestamp(millisecondsSince1970: 0)
    )
    let stored = StoredSession(
      session: Session(
        id: session.id,
        device: nil,
        createdAt: account.user.createdAt,
        lastSeenAt: account.user.createdAt,
        expiresAt: Timestamp(millisecondsSince1970: .max),
        cursor: nil
      ),
      user: session.user,
      tokenHash: TokenHash(words: SIMD4(number, 0, 0, 0))
    )
    guard try UserRecords(connection: connection).insert(account), !TestedStore.isSQLite else { return }
    // On PostgreSQL, each write looks for its session in the store.
    try SessionRecords(connection: connection).insert(stored)
  }

  /// A user who is not in the store.
  static func session(_ number: UInt64) -> LiveSession {
    LiveSession(
      id: SessionID(UUIDv7(milliseconds: 1, random12: 1, random62: number)),
      user: UserID(UUIDv7(milliseconds: 1, random12: 0, random62: number)),
      tokenHash: TokenHash(words: .zero)
    )
  }

  // MARK: Requests

  /// An action as `POST /v1/actions` reads it.
  func action(_ module: String, _ type: String, _ payload: JSON) throws -> UserAction {
    let module = try #require(modules.all.first { $0.name == module })
    return try #require(try module.read(type, payload))
  }

  func set(_ key: String, _ value: JSON, suite: String = "standard") throws -> UserAction {
    try action("defaults", "set", ["suite": .string(suite), "key": .string(key), "value": value])
  }

  /// Commits actions together. The body of the response has their mutations.
  @discardableResult
  func commit(
    _ actions: [UserAction],
    as session: LiveSession,
    key: String? = nil,
    if condition: (@Sendable (LedgerView) throws -> Void)? = nil
  ) async throws -> KeyedResponse {
    try await ledger.settle(Self.transaction(actions, as: session, key: key, if: condition))
  }

  static func transaction(
    _ actions: [UserAction],
    as session: LiveSession,
    key: String? = nil,
    if condition: (@Sendable (LedgerView) throws -> Void)? = nil
  ) -> Transaction {
    Transaction(
      user: session.user,
      session: session,
      actions: actions,
      condition: condition,
      key: key.map {
        let body = actions.flatMap { Array($0.record.utf8) }
        return IdempotencyKey($0, method: "POST", target: "/", body: body)
      },
      response: { committed in
        let body = committed.mutations.map { String(decoding: CollectionMutation.encoded($0), as: UTF8.self) }
        return StoredResponse(status: 200, fields: [], body: Array(body.joined(separator: "\n").utf8))
      },
      refusal: { error in
        (error as? ActionRefusal).map {
          StoredResponse(status: 400, fields: [], body: Array("\($0.index) \($0.refusal)".utf8))
        }
      }
    )
  }

  /// The user's state, from memory or from the store.
  func state(of session: LiveSession) async throws -> UserState { try await cache.load(session.user).state }

  /// The user's state, loaded from the tables.
  func stored(_ session: LiveSession) async throws -> UserState {
    let states = modules.states
    return try await store.readers.read { try states.load(session.user, from: $0) }
  }

  /// One module of a user's state after a revision, or nil if the history does not have it.
  func past(_ session: LiveSession, at revision: Revision, _ module: String) async throws -> UserState? {
    let history = modules.history
    return try await store.readers.read { try history.state(of: session.user, at: revision, .module(module), from: $0) }
  }

  /// The user's state, rebuilt from snapshots and the journal.
  func rebuilt(_ session: LiveSession) async throws -> UserState {
    var whole = UserState()
    whole.revision = try await store.readers.read { try Journal(connection: $0).lastRevision(of: session.user) }
    for module in modules.all {
      let past = try await past(session, at: whole.revision, module.name)
      whole.collections.merge(try #require(past).collections) { _, last in last }
    }
    return whole
  }

  /// The number of rows that a statement counts.
  func count(_ sql: StoreSQL) async throws -> Int {
    try await store.readers.read { connection in try connection.first(sql) { row in try row[0] as Int } ?? -1 }
  }

  // MARK: Blocking the writer

  /// Runs `body` while the writer is blocked within a transaction. Units that are submitted in
  /// `body` share it. In PostgreSQL, they make the next group.
  func withWriterHeld(_ body: () async throws -> Void) async throws {
    let held = try await HeldWriter.hold(store.writer, ledger)
    defer { held.letGo() }
    try await body()
  }

  /// The commits of `withWriterHeld` and of the group that waits in it.
  static let commitsOfHeldGroup = TestedStore.isSQLite ? 1 : 2

  /// Returns when this many units wait behind the one that blocks the writer.
  func waiting(_ count: Int) async { await eventually { store.writer.statistics.waiting == count } }

  /// Lets the group fail that waits in `withWriterHeld` and has idempotency keys.
  func breakGroup() async throws {
    if TestedStore.isSQLite { return try submitUndoing() }
    _ = try await files.rows("ALTER TABLE idempotency_keys RENAME TO gone")
  }

  /// Call this after `breakGroup`, when the group has failed.
  func repair() async throws {
    if !TestedStore.isSQLite { _ = try await files.rows("ALTER TABLE gone RENAME TO idempotency_keys") }
  }

  /// Submits a unit that makes SQLite roll back the shared transaction, as a failing disk does.
  func submitUndoing() throws {
    try store.writer.submit(
      { connection in
        try connection.execute("ROLLBACK")
        throw Undone()
      },
      completion: { _ in }
    )
  }

  struct Undone: Error {}

  /// Returns when the writer has run all submitted units, and the maintenance that follows them.
  func writerIsIdle() async throws {
    // Handlers of earlier units have been called when this returns, and have queued reads.
    try await store.writer.write { _ in }
    // The long reader queues the units of these reads.
    try await store.readers.read(length: .long) { _ in }
    try await store.writer.write { _ in }
    await eventually { !maintenance.isPruning }
  }
}

/// The states that the ledger has published, in order.
final class Announcements: Sendable {
  private let all = LockedState<[(user: UserID, state: UserState)]>([])

  func note(_ state: UserState, of user: UserID) { all.withLock { $0.append((user, state)) } }

  var revisions: [Int] { all.withLock { $0.map(\.state.revision.number) } }
}

private struct AnnouncingObserver: CommitObserver {
  let willAnnounce: @Sendable (UserID) -> Void
  let announced: Announcements

  func stateCommitted(_ state: UserState, of user: UserID) {
    willAnnounce(user)
    announced.note(state, of: user)
  }
}

extension UserState {
  /// Every byte of the state and the revision of each part. It must be the same however the state
  /// was made.
  var fingerprint: String {
    let parts = collections.sorted { $0.key < $1.key }.map { name, state in
      "\(name) \(state.count) \(state.bytes) \(String(decoding: state.snapshot, as: UTF8.self))"
    }
    return (["revision \(revision.rawValue)"] + parts).joined(separator: "\n")
  }
}

extension Ledger {
  /// Submits a transaction and returns when it is on disk.
  func commit(_ transaction: Transaction) async throws -> Transaction.Outcome {
    let reservation = reserve(transaction.user)
    if reservation.needsLoading { try await load(reservation, from: nil) }
    return try await commit(transaction, reservation)
  }

  /// Commits a transaction and returns its response, with a key or without.
  func settle(_ transaction: Transaction) async throws -> KeyedResponse {
    switch try await commit(transaction) {
    case .done(let committed): KeyedResponse(response: transaction.response(committed))
    case .recorded(let response): response
    }
  }
}
