import LockstepAccounts
import LockstepCollections
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepModules
import LockstepRoutes
import LockstepSQLite
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// The wired services of users: their accounts, and the parts that read and change their states.
struct UserServices: Sendable {
  let store: String
  private let screenWrites = FairShareLimiter<UserID>(name: "a user's writes from screens", atOnce: 16, waiting: 65_536)
  let accounts: StoredAccounts
  let readers: UserReaders
  let writer: DatabaseWriter
  let states: ModuleTables
  let cache: StateCache
  let registry: RegisteredLedger
  let ledger: Ledger
  let accountsLedger: AccountsLedger
  let history: StateHistory
  let maintenance: HistoryMaintenance
  let waiters: WaiterRegistry<UserID>
  let backgroundEncoder: BackgroundEncoder
  let defaults: DefaultsModule
  /// The modules of the program that uses the library.
  let own: [UserModule]
  /// All modules: the product's, then the program's own.
  let modules: [UserModule]
  /// Whose state screens follow.
  let followed: FollowedUsers

  /// The states of users, as screens need them.
  var userStates: LedgerUserStates {
    LedgerUserStates(
      cache: cache,
      registry: registry,
      followed: followed,
      ledger: ledger,
      modules: modules,
      turns: screenWrites
    )
  }

  /// Runs the admin commands of `lockstep user`.
  func adminCommands(_ time: TimeSource, logger: Logger) -> AdminCommandProcessor {
    let cache = cache
    return AdminCommandProcessor(
      accounts: accounts,
      readers: readers.readers,
      writer: writer,
      evict: { cache.forget($0) },
      now: { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) },
      log: { kind, user in
        logger.log(.info, "admin command run", ["order": .string(kind), "user": .string("\(user)")])
      }
    )
  }

  /// Lifts the limits of each user, so that a server that shuts down finishes its accepted work quickly.
  func liftShares() {
    readers.shares.lift()
    backgroundEncoder.shares.lift()
    screenWrites.lift()
  }

  /// Adds their metrics.
  func write(to page: inout MetricsPage) {
    let (waiting, cached, history) = (waiters.metrics, cache.size, maintenance.metrics)
    page.add(writer.statistics)
    page.addWaiters(waiting: waiting.waiting, wakings: waiting.wakings)
    page.addCache(users: cached.users, bytes: cached.bytes, loads: cache.loads)
    page.addSessions(cached: accounts.directory.count, accounts.limiter.metrics)
    page.addHistory(writtenBytes: history.writtenBytes, prunedRevisions: history.prunedRevisions)
  }

  init(
    _ configuration: Configuration,
    own: [UserModule],
    store: DurableStore,
    hashing: WorkerPool,
    encoding: WorkerPool,
    time: TimeSource
  ) throws {
    let sodium = try Sodium()
    let now: @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }
    self.own = own
    defaults = DefaultsModule(quota: configuration.defaultsQuota)
    modules = [.favorites(quota: configuration.favoritesQuota), defaults.userModule, .profile] + own
    states = ModuleTables(modules)
    history = StateHistory(states: states)
    self.store = String(store.id.prefix(Cursor.storeDigits))
    let readers = UserReaders(store.readers, threads: store.readingThreads)
    self.readers = readers
    writer = store.writer
    accounts = StoredAccounts(
      store: store,
      tokenKey: try store.write { try TokenKey.findOrMake(in: $0, random: sodium.randomWord) },
      hasher: Argon2Hasher(sodium, strength: configuration.passwordStrength, workers: hashing),
      random: sodium.randomWord,
      time: time,
      configuration: configuration.accounts
    )
    backgroundEncoder = BackgroundEncoder(encoding, threads: Services.encodingThreads)
    let states = states
    cache = StateCache(capacity: configuration.cacheBytes, readers: readers) { try states.load($0, from: $1) }
    let waiters = WaiterRegistry<UserID>(configuration.waiting)
    self.waiters = waiters
    let followed = FollowedUsers()
    self.followed = followed
    let inFlightKeys = InFlightKeys()
    let era = Era(random: sodium.randomWord())
    accountsLedger = AccountsLedger(
      accounts: accounts,
      readers: store.readers,
      writer: store.writer,
      inFlightKeys: inFlightKeys,
      now: now
    )
    registry = RegisteredLedger(
      try store.write { try RegisteredDefaultsTable().load(from: $0) },
      writer: store.writer,
      inFlightKeys: inFlightKeys,
      era: era,
      now: now,
      notify: { registered in
        waiters.wakeAll()
        followed.publish(registered)
      }
    )
    let registry = registry
    maintenance = HistoryMaintenance(
      pruning: JournalPruner(policy: configuration.history, history: history),
      writer: store.writer,
      now: now
    )
    ledger = Ledger(
      writer: store.writer,
      cache: cache,
      states: states,
      registry: registry,
      inFlightKeys: inFlightKeys,
      maintenance: maintenance,
      era: era,
      sessionEndings: accounts.directory.sessionEndings,
      now: now,
      notify: { user, state in
        waiters.wake(user)
        followed.publish(state, of: user, registry.current)
      }
    )
    // Requests of ended sessions must not wait any longer. Waiters are not recorded by session, because endings are rare.
    accounts.directory.whenEnded { _ in waiters.wakeAll() }
  }
}
