import LockstepAccounts
import LockstepBuiltInScreens
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepSync

extension UserServices {
  func authenticator(_ rates: RateMeter?) -> TokenAuthenticator {
    TokenAuthenticator(
      directory: accounts.directory,
      identities: identities?.sessions,
      millisecondsSince1970: time.millisecondsSince1970,
      monotonic: time.monotonic,
      rates: rates
    )
  }

  /// The user of the request's token, if the session is in memory.
  func user(of head: RequestHead) -> UserID? { authenticator(nil).user(of: head) }

  /// The routes of users. `rates` limits each token.
  func routes(_ configuration: Configuration, rates: RateMeter?) -> [Route] {
    let reading = reader(configuration, authenticator(rates))
    return AccountsRoutes(reading, accounts, accountsLedger, mail, export).routes + stateRoutes(reading)
  }

  func reader(_ configuration: Configuration, _ sessions: TokenAuthenticator) -> StateReader {
    StateReader(
      store: store,
      sessions: sessions,
      cache: cache,
      registry: registry,
      modules: modules,
      history: history,
      readers: readers,
      waiters: waiters,
      longestWait: configuration.longestWait,
      backgroundEncoder: backgroundEncoder,
      freshness: feed.map { feed in
        Freshness(
          store: store,
          cache: cache,
          registry: registry,
          refresher: refresher,
          isStrict: configuration.reads == .strict,
          lease: feed.lease
        )
      }
    )
  }

  var export: UserExport {
    UserExport(
      store: store,
      account: { [accounts] in try accounts.export($0, from: $1) },
      states: states,
      present: { [cache] in cache.state(of: $0)?.state },
      registered: { [registry] in registry.current.revision },
      readers: readers,
      own: own
    )
  }

  /// The routes for users' states: the modules, the actions, the feed and the journal.
  func stateRoutes(_ reading: StateReader) -> [Route] {
    let writing = StateWriter(reading, bodies: bodies, ledger: ledger)
    func moduleRoutes(_ module: UserModule) -> [Route] {
      ModuleRoutes(module: module, reading: reading, writing: writing).routes
    }
    var routes: [Route] = []
    for module in modules.current.fixed.dropLast(own.count) {
      routes +=
        module.hasParts
        ? ValuesRoutes.suites(defaults, reading: reading, writing: writing) : moduleRoutes(module)
    }
    routes.append(ActionsRoute(modules: modules, writing: writing).route)
    let feed = ChangesFeed(store: store, history: history)
    routes.append(ChangesRoute(reading, feed: feed, modules: modules, monotonic: time.monotonic).route)
    routes.append(JournalRoute(reading).route)
    return routes + own.flatMap(moduleRoutes)
  }

  /// Creates the directory of screens. A session's screens end with the session.
  func screenDirectory(
    _ configuration: Configuration,
    _ clock: any Clock<Duration>,
    _ logger: Logger
  ) throws -> ScreenDirectory {
    let directory = ScreenDirectory(
      environment: ScreenEnvironment(users: screens.users, clock: clock, now: time.now),
      limits: configuration.screens,
      waiting: configuration.waiting,
      node: feed == nil ? nil : ScreenNode(ofNode: nodeID),
      random: try Sodium().randomWord,
      monotonic: time.monotonic,
      logger: logger,
      executor: placement.taskExecutor
    )
    try directory.startExpiry(by: clock)
    upstream?.watch(by: clock)
    accounts.directory.whenEnded { [weak directory] sessions, _ in directory?.end(sessions: sessions) }
    serviceTokens.whenDeleted { [weak directory] in directory?.waiters.wakeAll() }
    feed?.onRegainedLease { [weak directory] in directory?.waiters.wakeAll() }
    return directory
  }

  func screenRoutes(
    _ configuration: Configuration,
    _ directory: ScreenDirectory,
    rates: RateMeter?,
    _ forwarder: ScreenForwarder?,
    _ logger: Logger
  ) -> ScreenRoutes {
    let kinds = BuiltInScreens.declarations(screens.builtIn) + ownScreens
    return ScreenRoutes(
      kinds: kinds,
      catalogue: ModuleDocument(modules) { PreparedDocument(Catalogue.document(modules: $0.all, screens: kinds)) },
      directory: directory,
      authenticator: authenticator(rates),
      bodies: bodies,
      longestWait: configuration.longestWait,
      monotonic: time.monotonic,
      lease: feed?.lease,
      forwarder: forwarder
    )
  }

  /// Creates the part that forwards requests for the screens of other nodes; nil without other nodes.
  func screenForwarder(_ configuration: Configuration, requests: Int, _ logger: Logger) -> ScreenForwarder? {
    guard let feed, let nodeSecret else { return nil }
    var bounds = ForwardingClient.Bounds()
    bounds.exchanges = requests
    return ScreenForwarder(
      .init(
        own: ScreenNode(ofNode: nodeID),
        address: { feed.address(ofNodeWithPrefix: $0.prefix) },
        refresh: { [readers = readers.readers] in
          feed.note(try await readers.read { try NodeRecords.live(in: $0) })
        }
      ),
      ForwardingClient(bounds, time: time),
      NodeCredentials(secret: nodeSecret),
      longestWait: configuration.longestWait,
      monotonic: time.monotonic,
      logger: logger
    )
  }
}
