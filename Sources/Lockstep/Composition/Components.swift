import LockstepAccounts
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens

/// Builds and holds the parts of a server. All wiring is here. Tests pass other parts in.
struct Components: Sendable {
  let logger: Logger
  let readiness: Readiness
  /// One for each event loop. They are alike and share nothing that a request touches.
  let applications: [Application]
  /// The screens; nil without users.
  let screens: ScreenDirectory?
  /// The description of all routes.
  let openAPI: OpenAPIRoute

  init(
    _ configuration: Configuration,
    logger: Logger,
    environment: Environment,
    services: Services,
    loops: Int,
    serverCounters: @escaping @Sendable () -> ServerCounters,
    backups: BackupScheduler? = nil
  ) throws {
    let time = environment.time
    self.logger = logger
    let store = services.store
    readiness = Readiness(logger: logger, clock: environment.clock) { try await store.checkWritable() }

    let (start, startedAt) = (time.monotonic(), time.millisecondsSince1970())
    let readiness = readiness
    let tokenRates = configuration.tokenRate.map { RateMeter($0, by: .token, monotonic: time.monotonic) }
    let addressRates = configuration.addressRate.map {
      AddressRates(meter: RateMeter($0, by: .address, monotonic: time.monotonic))
    }
    // Built for each loop, because two loops would contend for the reference count of a shared response.
    let userRoutes = services.users.map {
      UserRoutes(
        users: $0,
        administratorToken: AdministratorToken(configuration.administratorToken),
        longestWait: configuration.longestWait,
        time: time,
        rates: tokenRates
      )
    }
    let screens = try Self.screens(configuration, environment, services, logger)
    self.screens = screens
    let screenRoutes = userRoutes.flatMap { userRoutes in
      screens.flatMap { Self.screenRoutes(configuration, environment, services, userRoutes, $0, logger) }
    }
    let plainRoutes = {
      HealthRoutes(readiness: readiness).routes + ProblemRoutes.routes + (userRoutes?.routes ?? [])
        + (screenRoutes?.routes ?? [])
    }
    let labels =
      plainRoutes().map { ($0.method.name, $0.pattern) }
      + [MetricsRoute.pattern, OpenAPIRoute.pattern, IndexRoute.pattern].map { ("GET", $0) }
    let metrics = RequestMetrics(
      routes: labels.map { (method: $0.0, pattern: $0.1) },
      loops: loops
    )
    let rates = [tokenRates, addressRates?.meter].compactMap { $0 }
    var parts: [(@Sendable (inout MetricsPage) -> Void)?] = [{ $0.add(serverCounters(), rates) }]
    parts.append(services.users.map { users in { @Sendable in users.write(to: &$0) } })
    parts.append(services.writeMetrics)
    parts.append(screens.map { screens in { @Sendable in $0.add(screens.metrics) } })
    parts.append(backups.map { backups in { @Sendable in $0.add(backups.metrics) } })
    let metricsRoute = MetricsRoute(
      requests: metrics,
      parts: parts.compactMap { $0 },
      droppedLogLines: environment.droppedLogLines,
      uptimeSeconds: { Double(time.monotonic() - start) / 1_000_000_000 }
    )
    let openAPI = OpenAPIRoute(
      describing: plainRoutes() + [metricsRoute.route, IndexRoute.route(listing: [])]
    )
    self.openAPI = openAPI
    let cors = CORSPolicy(origins: configuration.corsOrigins)
    let origins = OriginCheck(cors, logger: logger, monotonic: time.monotonic)
    applications = try (0..<loops).map { loop in
      var routes = plainRoutes()
      routes.append(metricsRoute.route)
      routes.append(openAPI.route)
      routes.append(IndexRoute.route(listing: routes))
      return Application(
        router: try Router(routes),
        cors: cors,
        origins: origins,
        limits: configuration.limits,
        proxies: TrustedProxies(configuration.trustedProxies),
        ids: RequestIDs(start: startedAt, loop: loop),
        rates: addressRates,
        metrics: metrics.shard(ofLoop: loop),
        accessLog: configuration.accessLog ? AccessLog(logger) : nil,
        logger: logger,
        monotonic: time.monotonic
      )
    }
  }
}
