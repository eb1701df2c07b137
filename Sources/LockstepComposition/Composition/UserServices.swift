import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepModules
import LockstepRoutes
import LockstepScreens
import LockstepSync
import LockstepStore
import LockstepThreading
import LockstepTime
import LockstepWebhooks

/// The services of users: their accounts, and the parts that read and change their states.
struct UserServices: Sendable {
  let store: String
  /// The file of a store in SQLite.
  private let path: String?
  let time: TimeSource
  let placement: WorkPlacement
  // Two password hashes run at a time, and up to 64 wait. So many logins at once delay only logins.
  private let hashing: HashingPool
  private let encoding: WorkerPool
  // One thread is enough, because time zones stay in memory and their files are rarely read.
  private let zones: WorkerPool
  let upstream: HTTPProfileUpstream?
  private let screenWrites = LedgerUsers.makeTurns()
  let accounts: StoredAccounts
  /// Nil: the server accepts no tokens of other issuers.
  let identities: IdentityServices?
  let readers: UserReaders
  let writer: StoreWriter
  let states: ModuleTables
  let cache: StateCache
  let registry: RegisteredLedger
  let ledger: Ledger
  let accountsLedger: AccountsLedger
  let history: StateHistory
  let maintenance: HistoryMaintenance
  /// Finds users whose history is too old, and queues it for pruning.
  let historySweep: HistorySweep
  let waiters: WaiterRegistry<UserID>
  let commits: JournalNotifier
  /// Identifies this run of the server.
  let nodeID: String
  /// Connects this server with the others of a fleet; nil in SQLite.
  let feed: CommitFeed?
  /// With this secret, the nodes of a fleet recognise each other; nil in SQLite.
  let nodeSecret: String?
  let refresher: StateRefresher
  let serviceTokens: ServiceTokens
  let backgroundEncoder: BackgroundEncoder
  /// Reads the bodies of writes and of screens' actions.
  let bodies: BodyDecoder
  /// Sends the deliveries of webhooks.
  let deliveries: DeliveryWorker
  let webhookSender: WebhookSender
  /// Nil: the server sends no mails.
  private let mailSender: MailDeliverySender?
  let mail: AccountMail
  let defaults: DefaultsModule
  let own: [UserModule]
  /// All modules: those of Lockstep, then `own`, those of the program, then declared collections.
  let modules: Modules
  let declared: DeclaredLedger
  /// Tests replace the services of screens.
  var screens: ScreenServices
  /// The screens of the program.
  let ownScreens: [ScreenDeclaration]

  init(
    _ configuration: Configuration,
    own: [UserModule],
    ownScreens: [ScreenDeclaration],
    store: DurableStore,
    time: TimeSource,
    placement: WorkPlacement
  ) throws {
    let sodium = try Sodium()
    let eras = EraSource(Era(random: sodium.randomWord()))
    let inFlightKeys = InFlightKeys()
    nodeID = store.nodeID
    feed = store.feed
    let followed = FollowedUsers()
    let encoders = 2
    self.time = time
    self.placement = placement
    let counter = placement.counter
    self.own = own
    self.ownScreens = ownScreens
    self.store = String(store.id.prefix(Cursor.storeDigits))
    path = configuration.store == nil ? configuration.data : nil
    hashing = try HashingPool(threads: 2, capacity: 64, counter: counter)
    encoding = try WorkerPool(name: "encode", threads: encoders, capacity: 4_096, counter: counter)
    zones = try WorkerPool(name: "zone", threads: 1, capacity: 64, counter: counter)
    upstream = try configuration.profileUpstream.map { try HTTPProfileUpstream($0) }
    defaults = DefaultsModule(quota: configuration.defaultsQuota)
    modules = Modules([.favorites(quota: configuration.favoritesQuota), defaults.userModule, .profile] + own)
    states = ModuleTables(modules)
    history = StateHistory(states: states)
    readers = UserReaders(store.readers, threads: store.readingThreads)
    writer = store.writer
    let tokenKey = try store.write { try TokenKey.findOrMake(in: $0, random: sodium.randomWord) }
    nodeSecret = store.feed == nil ? nil : tokenKey.secret(for: "node")
    accounts = StoredAccounts(
      store: store,
      tokenKey: tokenKey,
      hasher: Argon2Hasher(sodium, strength: configuration.passwordStrength, workers: hashing),
      random: sodium.randomWord,
      time: time,
      configuration: configuration.accounts
    )
    try accounts.notePasswordRules()
    identities =
      configuration.trustedIssuers.isEmpty
      ? nil : try IdentityServices(configuration.trustedIssuers, accounts, configuration.outgoingTimes, time: time)
    backgroundEncoder = BackgroundEncoder(encoding, threads: encoders)
    bodies = BodyDecoder(backgroundEncoder, memory: configuration.limits.bodyMemory)
    cache = StateCache(
      capacity: configuration.cacheBytes,
      readers: readers,
      changes: accounts.directory.changes
    ) { [states] user, connection in
      let state = try states.load(user, from: connection)
      // An erased user has an empty state too. The erasure is on disk before the session ends in
      // memory.
      if state.revision == .none, try !UserRecords(connection: connection).has(user) { throw SessionEndedError() }
      return state
    }
    waiters = WaiterRegistry(configuration.waiting)
    commits = JournalNotifier(configuration.waiting)
    let tokens = try store.write { try ServiceTokenRecords(connection: $0).all() }
    serviceTokens = ServiceTokens(accounts, tokens, now: time.now)
    maintenance = HistoryMaintenance(
      pruning: JournalPruner(policy: configuration.history, history: history),
      readers: store.readers,
      writer: writer,
      now: time.now,
      executor: placement.taskExecutor
    )
    accountsLedger = AccountsLedger(
      accounts: accounts,
      readers: store.readers,
      writer: writer,
      inFlightKeys: inFlightKeys,
      noteRecord: { [maintenance] in maintenance.noteRecord(of: $0, bytes: $1) },
      now: time.now
    )
    registry = RegisteredLedger(
      try store.write { try RegisteredDefaultsTable().load(from: $0) },
      writer: writer,
      inFlightKeys: inFlightKeys,
      eras: eras,
      now: time.now,
      notify: { [waiters] registered in
        waiters.wakeAll()
        followed.publish(registered)
      }
    )
    declared = try store.write { [modules, waiters, cache] connection in
      try DeclaredLedger(
        modules,
        reserved: Array(Services.namesWithoutDeclarations) + ownScreens.map(\.name),
        from: connection,
        make: { .declared($0) },
        writer: store.writer,
        readers: store.readers,
        inFlightKeys: inFlightKeys,
        eras: eras,
        now: time.now,
        notify: { [waiters, cache] isOther in
          // The states in memory may have the collection, and its encoded form.
          if isOther { cache.forgetAll() }
          waiters.wakeAll()
        }
      )
    }
    if let module = own.first(where: { [declared] in declared.current.declared[$0.name.exact] != nil }) {
      throw InvalidModuleError(
        module.name,
        "the store declares a collection with this name. Delete the declaration, or rename the module."
      )
    }
    states.readDeclared { [declared] in try declared.refresh(from: $0, isWhole: true) }
    historySweep = HistorySweep(
      maintenance,
      policy: configuration.history,
      readers: store.readers,
      isResponsible: { [feed = store.feed] in feed?.isFirstNode ?? true },
      now: time.now
    )
    webhookSender = WebhookSender(
      userAgent: "lockstep/\(lockstepVersion)",
      allowsPrivateAddresses: configuration.webhookAllowPrivate,
      timeOut: configuration.outgoingTimes.delivery
    )
    mailSender = try MailDeliverySender(configuration.mail, now: time.now)
    deliveries = DeliveryWorker(
      readers: store.readers,
      writer: writer,
      webhooks: webhookSender,
      others: mailSender.map { [DeliveryWorker.OtherDestination(.mail, $0, atOnce: MailDeliverySender.atOnce)] } ?? [],
      secretMembers: { delivery in
        switch WebhookEventType(rawValue: delivery.type) {
        case .passwordReset, .emailProof: ["token": .string(tokenKey.mailToken(of: delivery.id).text)]
        default: [:]
        }
      },
      timeAtStop: configuration.outgoingTimes.deliveriesAtStop,
      now: time.now
    )
    accounts.onCommit { [deliveries] in deliveries.wake() }
    let published = {
      @Sendable [waiters, commits, registry, cache, writer, deliveries] (user: UserID, state: UserState) in
      if writer.stateEventFlag.hasStateEvents { deliveries.wake() }
      waiters.wake(user)
      commits.note()
      followed.publish(state, of: user, registry.current) {
        cache.state(of: user).map { $0.state.revision <= state.revision } ?? true
      }
    }
    ledger = Ledger(
      writer: try writer.writeSetWriter(of: states),
      cache: cache,
      states: states,
      registry: registry,
      inFlightKeys: inFlightKeys,
      maintenance: maintenance,
      eras: eras,
      sessionEndings: accounts.directory.sessionEndings,
      background: backgroundEncoder,
      now: time.now,
      notify: published
    )
    let memory = NodeMemory(
      cache: cache,
      tables: states,
      directory: accounts.directory,
      registry: registry,
      declared: declared,
      serviceTokens: serviceTokens,
      commits: commits,
      wake: { [waiters, commits] user in
        waiters.wake(user)
        commits.note()
      },
      wakeAll: { [waiters, commits] in
        waiters.wakeAll()
        commits.wakeAll()
      },
      notify: published
    )
    refresher = StateRefresher(
      cache: cache,
      tables: states,
      registry: registry,
      declared: declared,
      memory: memory,
      readers: store.readers
    )
    let users = LedgerUsers(
      cache: cache,
      registry: registry,
      followed: followed,
      ledger: ledger,
      modules: modules,
      turns: screenWrites
    )
    mail = AccountMail(
      accounts,
      sendsMails: mailSender != nil,
      timeAtStop: configuration.outgoingTimes.mailsAtStop,
      executor: placement.taskExecutor,
      languages: { try await users.languages(of: $0, accepted: $1) }
    )
    screens = ScreenServices(
      accounts: accounts,
      validators: ScreenValidators(configuration.accounts.passwordRules) { [accounts] in
        try await accounts.shortestPassword()
      },
      users: users,
      upstream: upstream ?? LocalProfileUpstream(),
      dates: TimeZones(workers: zones)
    )
    store.onWriterConnection { [cache] isOtherHistory in
      eras.begin(Era(random: sodium.randomWord()))
      if isOtherHistory { eras.beginHistory() }
      cache.forgetAll()
    }
    if let feed = store.feed {
      commits.whenHidden { feed.checkJournalSoon() }
      feed.onRegainedLease { [waiters, commits] in
        waiters.wakeAll()
        commits.wakeAll()
      }
    }
    store.onUnitsConnection { eras.begin(Era(random: sodium.randomWord())) }
    try store.follow(memory)
    // Requests of an ended session stop waiting. Waiters are not recorded by session, because
    // sessions rarely end.
    accounts.directory.whenEnded { [waiters] _, users in
      for user in users { waiters.wake(user) }
    }
    serviceTokens.whenDeleted { [waiters, commits] in
      waiters.wakeAll()
      commits.wakeAll()
    }
  }

  /// Reads the servers of the store; nil if this one is alone.
  var nodes: (@Sendable () async throws -> [NodeRecord])? {
    guard feed != nil else { return nil }
    return { [readers = readers.readers] in try await readers.read { try NodeRecords.live(in: $0) } }
  }

  /// The path of the socket for the operator's commands; nil in PostgreSQL.
  var operatorSocket: String? { path.flatMap { StorePath.socket(of: $0) } }

  /// Changes the declared collections for an operator.
  func perform(_ work: CollectionsWork, key: IdempotencyKey?) async throws -> CollectionsOutcome {
    try await declared.perform(work, key: key) { [ledger, serviceTokens] declaration, user in
      try await ledger.erase(declaration, of: user, by: serviceTokens.administrator)
    }
  }

  /// Lifts the limits on the work of each user, so that a stopping server finishes soon.
  ///
  /// The server still decides on a user's long writes one after the other. If it decided on all of them at
  /// once, each commit would make the others start over, and most of them would use up their attempts.
  func liftShares() {
    readers.lift()
    backgroundEncoder.lift()
    bodies.drain()
  }

  /// Blocks until no write of a screen waits or runs, or until the time is over. The requests that caused
  /// these writes have got their responses already.
  func finishScreenWrites(atMost time: Duration) { screenWrites.waitUntilIdle(atMost: time.wholeNanoseconds) }

  /// Logs what happens to mails.
  func logMail(to logger: Logger, _ configuration: MailConfiguration) {
    mailSender?.log(to: logger, configuration)
    // Clients can ask for many mails past a limit.
    let lastLimited = LockedState<Timestamp?>(nil)
    mail.queue.onFailure { [now = time.now] error in
      switch error as? AccountsError {
      case .tooManyAttempts:
        let now = now()
        let isDue = lastLimited.withLock { last in
          guard last.map({ now.millisecondsSince1970 - $0.millisecondsSince1970 >= 60_000 }) ?? true else {
            return false
          }
          last = now
          return true
        }
        if isDue { logger.log(.info, "a mail past a limit was not sent; further ones within a minute are not logged") }
      default:
        logger.log(.error, "a mail that a client has asked for could not be queued", ["error": .string("\(error)")])
      }
    }
  }

  /// Ends the worker threads when their work is done. The store stays open.
  func shutDown() {
    mailSender?.shutDown()
    identities?.shutDown()
    upstream?.shutDown()
    webhookSender.shutDown()
    zones.shutDown()
    hashing.shutDown()
    encoding.shutDown()
  }

  /// The size of the store. For PostgreSQL, that of the database, read every 30 seconds.
  var storeSize: StoreSize? {
    path.map { StoreSize(ofStoreAt: $0) } ?? feed.map { StoreSize(bytes: $0.statistics.databaseBytes) }
  }

  func write(to page: inout MetricsPage) {
    let (waiting, following, cached, history) = (waiters.metrics, commits.metrics, cache.size, maintenance.metrics)
    page.add(writer.statistics)
    page.add(feed?.statistics, holdsLease: feed?.lease.isHeld ?? true)
    page.addWaiters(waiting: waiting.waiting + following.waiting, wakings: waiting.wakings + following.wakings)
    page.addCache(users: cached.users, bytes: cached.bytes, loads: cache.loads)
    page.addSessions(cached: accounts.directory.count, accounts.limiter.metrics)
    page.addHistory(writtenBytes: history.writtenBytes, prunedRevisions: history.prunedRevisions)
    page.add(deliveries.metrics, now: time.now())
    page.add(identities?.statuses ?? [])
    page.add(
      storeSize,
      waiting: [
        ("hash", hashing.waiting), ("encode", encoding.waiting), ("zone", zones.waiting),
        ("read", readers.readers.waiting),
      ]
    )
  }
}
