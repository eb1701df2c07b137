import LockstepAccounts
import LockstepAdministration
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepTime

/// Builds and holds the parts of a server. Tests pass in their own services and clocks.
struct Components: Sendable {
  let logger: Logger
  let readiness: Readiness
  /// One for each event loop. They are alike, but each has its own routes.
  let applications: [Application]
  let screens: ScreenDirectory?
  /// Nil: there are no other nodes.
  let forwarder: ScreenForwarder?
  let openAPI: OpenAPIRoute

  init(
    _ configuration: Configuration,
    logger: Logger,
    environment: Environment,
    services: Services,
    loops: Int,
    serverCount: @escaping @Sendable (ServerCounter) -> Int,
    address: String = "",
    forwardedRequests: Int = 0,
    backups: BackupScheduler? = nil
  ) throws {
    let time = environment.time
    let (start, startedAt) = (time.monotonic(), time.millisecondsSince1970())
    self.logger = logger
    readiness = Readiness(
      logger: logger,
      clock: environment.clock,
      executor: environment.placement.taskExecutor
    ) { try await services.store.checkWritable() }
    let nodeAddress = Self.nodeAddress(configuration, listeningAt: address)
    if let feed = services.users?.feed {
      if let nodeAddress { feed.setAddress(nodeAddress) } else { Self.warnOfUnreachableScreens(logger) }
    }
    let forwarder = services.users?.screenForwarder(configuration, requests: forwardedRequests, logger)
    self.forwarder = forwarder
    screens = try services.users?.screenDirectory(configuration, environment.clock, logger)

    let tokenRates = configuration.tokenRate.map { RateMeter($0, by: .token, monotonic: time.monotonic) }
    let addressRates = configuration.addressRate.map {
      AddressRates(meter: RateMeter($0, by: .address, monotonic: time.monotonic))
    }
    let screenRoutes = screens.flatMap {
      services.users?.screenRoutes(configuration, $0, rates: tokenRates, forwarder, logger)
    }
    let uptimeSeconds = { @Sendable in Double(time.monotonic() - start) / 1_000_000_000 }
    let node = AdminStatusRoutes.Node(
      id: services.users?.nodeID ?? "",
      address: nodeAddress ?? address,
      startedAt: Timestamp(millisecondsSince1970: startedAt),
      configuration: configuration.json,
      storeSize: { services.users?.storeSize },
      backups: backups,
      all: services.users?.nodes
    )
    // Each event loop has its own routes, because loops would contend for the reference count of a
    // shared response.
    let plainRoutes = { @Sendable [readiness, screens] in
      var routes = HealthRoutes(readiness: readiness).routes + ProblemRoutes.routes + FileRoutes.routes
      routes += AccountPageRoutes.routes
      if configuration.inspector, configuration.administratorToken?.isEmpty == false {
        routes += InspectorRoutes.routes
      }
      guard let users = services.users else { return routes }
      let own =
        users.routes(configuration, rates: tokenRates) + (screenRoutes?.routes ?? [])
        + users.administrationRoutes(
          configuration,
          node,
          screens: screens,
          forwarder,
          uptimeSeconds: uptimeSeconds,
          logger
        )
      return routes + own.map { route in users.feed.map { route.refusing(without: $0.lease) } ?? route }
    }
    let metrics = RequestMetrics(loops: loops)
    let modules = services.users?.modules
    let declaredRoutes = { @Sendable () -> DeclaredRoutes? in
      services.users.map { users in
        let make = users.declaredRoutes(configuration, rates: tokenRates, logger)
        return DeclaredRoutes(users.modules, metrics, lease: users.feed?.lease) { declared in
          make(declared).map { route in users.feed.map { route.refusing(without: $0.lease) } ?? route }
        }
      }
    }
    let rates = [tokenRates, addressRates?.meter].compactMap { $0 }
    let metricsRoute = MetricsRoute(
      requests: metrics,
      parts: [
        { $0.add(serverCount, rates) }, { services.users?.write(to: &$0) },
        { [screens] in if let screens { $0.add(screens.metrics) } },
        { if let client = forwarder?.client { $0.add(client) } },
        { if let backups { $0.add(backups.metrics) } },
      ],
      droppedLogLines: environment.droppedLogLines,
      uptimeSeconds: uptimeSeconds,
      // Not the clock of the environment, which a test may stop.
      monotonic: TimeSource.system.monotonic
    )
    let openAPI = OpenAPIRoute(modules, executor: environment.placement.taskExecutor) {
      plainRoutes() + [metricsRoute.route, IndexRoute.route(modules) { [] }] + (declaredRoutes()?.all ?? [])
    }
    self.openAPI = openAPI
    let cors = CORSPolicy(origins: configuration.corsOrigins)
    let origins = OriginCheck(
      cors,
      own: configuration.mail.publicURL?.origin,
      logger: logger,
      monotonic: time.monotonic
    )
    applications = try (0..<loops).map { loop in
      let declared = declaredRoutes()
      var routes = plainRoutes() + [metricsRoute.route, openAPI.route]
      routes.append(IndexRoute.route(modules) { [routes] in routes + (declared?.all ?? []) })
      let fixed = try RouteTable(routes, metrics)
      return Application(
        tables: RouteTables(fixed) { head throws(Problem) in try declared?.table(for: head) },
        cors: cors,
        origins: origins,
        limits: configuration.limits,
        proxies: TrustedProxies(configuration.trustedProxies),
        nodes: forwarder?.credentials,
        ids: RequestIDs(start: startedAt, loop: loop),
        rates: addressRates,
        metrics: metrics.shard(ofLoop: loop),
        accessLog: configuration.accessLog ? AccessLog(logger) : nil,
        logger: logger,
        monotonic: time.monotonic
      )
    }
  }

  /// The URL at which other nodes reach this one: the operator's, or the one that the server listens
  /// at, if that is of loopback. Nil if others cannot reach it.
  private static func nodeAddress(_ configuration: Configuration, listeningAt address: String) -> String? {
    if let url = configuration.nodeAddress { return "\(url)" }
    guard let host = ServerURL(address)?.address.host, let own = IPAddress(host), own.isLoopback else { return nil }
    return address
  }

  private static func warnOfUnreachableScreens(_ logger: Logger) {
    logger.log(
      .warning,
      "other nodes of this store cannot reach the screens of this one: set --node-address to the URL at which they "
        + "reach it"
    )
  }
}
