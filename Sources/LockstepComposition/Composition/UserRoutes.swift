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
      directory: accounts.stored.directory,
      identities: accounts.identities?.sessions,
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
    return AccountsRoutes(reading, accounts.stored, states.accountsLedger, delivery.mail, export).routes
      + stateRoutes(reading)
  }

  func reader(_ configuration: Configuration, _ sessions: TokenAuthenticator) -> StateReader {
    StateReader(
      store: storage.id,
      sessions: sessions,
      cache: states.cache,
      registry: states.registry,
      modules: modules.all,
      history: modules.history,
      readers: storage.readers,
      waiters: states.waiters,
      longestWait: configuration.longestWait,
      backgroundEncoder: encoding.background,
      freshness: storage.feed.map { feed in
        Freshness(
          store: storage.id,
          cache: states.cache,
          registry: states.registry,
          refresher: states.refresher,
          isStrict: configuration.reads == .strict,
          lease: feed.lease
        )
      }
    )
  }

  var export: UserExport {
    UserExport(
      store: storage.id,
      account: { [accounts = accounts.stored] in try accounts.export($0, from: $1) },
      states: modules.tables,
      present: { [cache = states.cache] in cache.state(of: $0)?.state },
      registered: { [registry = states.registry] in registry.current.revision },
      readers: storage.readers,
      own: modules.own
    )
  }

  /// The routes for users' states: the modules, the actions, the feed and the journal.
  func stateRoutes(_ reading: StateReader) -> [Route] {
    let writing = StateWriter(reading, bodies: encoding.bodies, ledger: states.ledger)
    func moduleRoutes(_ module: UserModule) -> [Route] {
      ModuleRoutes(module: module, reading: reading, writing: writing).routes
    }
    var routes: [Route] = []
    for module in modules.all.current.fixed.dropLast(modules.own.count) {
      routes +=
        module.hasParts
        ? ValuesRoutes.suites(modules.defaults, reading: reading, writing: writing) : moduleRoutes(module)
    }
    routes.append(ActionsRoute(modules: modules.all, writing: writing).route)
    let feed = ChangesFeed(store: storage.id, history: modules.history)
    routes.append(ChangesRoute(reading, feed: feed, modules: modules.all, monotonic: time.monotonic).route)
    routes.append(JournalRoute(reading).route)
    return routes + modules.own.flatMap(moduleRoutes)
  }

  /// Creates the directory of screens. A session's screens end with the session.
  func screenDirectory(
    _ configuration: Configuration,
    _ clock: any Clock<Duration>,
    _ logger: Logger
  ) throws -> ScreenDirectory {
    let directory = ScreenDirectory(
      environment: ScreenEnvironment(users: screens.services.users, clock: clock, now: time.now),
      limits: configuration.screens,
      waiting: configuration.waiting,
      node: storage.feed == nil ? nil : ScreenNode(ofNode: storage.nodeID),
      random: try Sodium().randomWord,
      monotonic: time.monotonic,
      logger: logger,
      executor: placement.taskExecutor
    )
    try directory.startExpiry(by: clock)
    screens.upstream?.watch(by: clock)
    publisher.add(directory)
    return directory
  }

  func screenRoutes(
    _ configuration: Configuration,
    _ directory: ScreenDirectory,
    rates: RateMeter?,
    _ forwarder: ScreenForwarder?,
    _ logger: Logger
  ) -> ScreenRoutes {
    let kinds = screens.declarations
    return ScreenRoutes(
      kinds: kinds,
      catalogue: ModuleDocument(modules.all) { PreparedDocument(Catalogue.document(modules: $0.all, screens: kinds)) },
      directory: directory,
      authenticator: authenticator(rates),
      bodies: encoding.bodies,
      longestWait: configuration.longestWait,
      monotonic: time.monotonic,
      lease: storage.feed?.lease,
      forwarder: forwarder
    )
  }

  /// Creates the part that forwards requests for the screens of other nodes; nil without other nodes.
  func screenForwarder(_ configuration: Configuration, requests: Int, _ logger: Logger) -> ScreenForwarder? {
    guard let feed = storage.feed, let nodeSecret = storage.nodeSecret else { return nil }
    var bounds = ForwardingClient.Bounds()
    bounds.exchanges = requests
    return ScreenForwarder(
      .init(
        own: ScreenNode(ofNode: storage.nodeID),
        address: { feed.address(ofNodeWithPrefix: $0.prefix) },
        refresh: { [readers = storage.store.readers] in
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
