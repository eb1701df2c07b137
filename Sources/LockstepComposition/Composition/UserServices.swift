import LockstepAccounts
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// The services of users: their accounts, and the parts that read and change their states.
///
/// They are built from the bottom up. Whatever observes commits is added to `publisher` at the end.
struct UserServices: Sendable {
  let time: TimeSource
  let placement: WorkPlacement
  let storage: StorageServices
  let accounts: AccountServices
  let modules: ModuleServices
  let encoding: EncodingServices
  let states: StateServices
  var screens: ScreenHosting
  let delivery: DeliveryServices
  /// Notifies everything that observes commits.
  let publisher = CommitPublisher()

  init(
    _ configuration: Configuration,
    own: [UserModule],
    ownScreens: [ScreenDeclaration],
    store: DurableStore,
    time: TimeSource,
    placement: WorkPlacement
  ) throws {
    (self.time, self.placement) = (time, placement)
    let (sodium, counter) = (try Sodium(), placement.counter)
    storage = try StorageServices(configuration, store, sodium)
    accounts = try AccountServices(
      configuration,
      storage,
      sodium,
      observer: publisher,
      time: time,
      counter: counter
    )
    modules = ModuleServices(configuration, own: own)
    encoding = try EncodingServices(configuration, counter: counter)
    let shared = LedgerEnvironment(
      writer: storage.writer,
      eras: EraSource { Era(random: sodium.randomWord()) },
      now: time.now,
      observer: publisher
    )
    let reserved = Array(Services.namesWithoutDeclarations) + ownScreens.map(\.name)
    states = try StateServices(
      configuration,
      storage,
      accounts,
      modules,
      encoding,
      shared,
      reservedNames: reserved,
      placement: placement
    )
    screens = try ScreenHosting(configuration, accounts, modules, states, own: ownScreens, counter: counter)
    delivery = try DeliveryServices(
      configuration,
      storage,
      accounts.stored,
      time: time,
      executor: placement.taskExecutor
    ) { [users = screens.users] in try await users.languages(of: $0, accepted: $1) }
    publisher.add(states.waiters, states.commits, screens.users, delivery.worker)
    try store.follow(states.memory)
  }

  /// Changes the declared collections for an operator.
  func perform(_ work: CollectionsWork, key: IdempotencyKey?) async throws -> CollectionsOutcome {
    try await states.declared.perform(work, key: key) { [states, accounts] declaration, user in
      try await states.ledger.erase(declaration, of: user, by: accounts.serviceTokens.administrator)
    }
  }

  /// Lifts the limits on the work of each user, so that a stopping server finishes soon.
  ///
  /// The server still decides on a user's long writes one after the other. If it decided on all of them at
  /// once, each commit would make the others start over, and most of them would use up their attempts.
  func liftShares() {
    storage.readers.lift()
    encoding.background.lift()
    encoding.bodies.drain()
  }

  /// Ends the worker threads when their work is done. The store stays open.
  func shutDown() {
    publisher.shutDown()
    accounts.shutDown()
    screens.shutDown()
    delivery.shutDown()
    encoding.shutDown()
  }

  func write(to page: inout MetricsPage) {
    let (waiting, following) = (states.waiters.metrics, states.commits.metrics)
    let (cached, history) = (states.cache.size, states.maintenance.metrics)
    page.add(storage.writer.statistics)
    page.add(storage.feed?.statistics, holdsLease: storage.feed?.lease.isHeld ?? true)
    page.addWaiters(waiting: waiting.waiting + following.waiting, wakings: waiting.wakings + following.wakings)
    page.addCache(users: cached.users, bytes: cached.bytes, loads: states.cache.loads)
    page.addSessions(cached: accounts.stored.directory.count, accounts.stored.limiter.metrics)
    page.addHistory(writtenBytes: history.writtenBytes, prunedRevisions: history.prunedRevisions)
    page.add(delivery.worker.metrics, now: time.now())
    page.add(accounts.identities?.statuses ?? [])
    page.add(
      storage.size,
      waiting: [
        ("hash", accounts.waitingHashes), ("encode", encoding.waiting), ("zone", screens.waitingZones),
        ("read", storage.store.readers.waiting),
      ]
    )
  }
}
