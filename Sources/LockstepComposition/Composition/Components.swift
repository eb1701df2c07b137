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

/// Builds and holds the parts of a server that respond to requests. Tests pass in their own services and clocks.
struct Components: Sendable {
  let logger: Logger
  let readiness: Readiness
  /// One for each event loop. They are alike, but each has its own routes.
  let applications: [Application]
  /// Responds to the requests on the socket for the operator's commands; nil if there is no such socket.
  let operatorApplication: Application?
  let screens: ScreenDirectory
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
    let (time, users) = (environment.time, services.users)
    let start = ServerStart(time)
    self.logger = logger
    readiness = Readiness(
      logger: logger,
      clock: environment.clock,
      executor: environment.placement.taskExecutor
    ) { try await services.store.checkWritable() }
    let nodeAddress = Self.announceAddress(configuration, listeningAt: address, users.storage.feed, logger)
    forwarder = users.screenForwarder(configuration, requests: forwardedRequests, logger)
    screens = try users.screenDirectory(configuration, environment.clock, logger)
    let rates = RequestRates(configuration, time)
    let node = AdminStatusRoutes.Node(
      id: users.storage.nodeID,
      address: nodeAddress ?? address,
      startedAt: start.time,
      configuration: configuration.json,
      storeSize: { users.storage.size },
      backups: backups,
      all: users.storage.nodes
    )
    let metrics = RequestMetrics(loops: loops + 1)
    let routes = RouteBuilder(
      configuration: configuration,
      users: users,
      readiness: readiness,
      node: node,
      screens: screens,
      forwarder: forwarder,
      tokenRates: rates.ofToken,
      metrics: metrics,
      uptimeSeconds: start.uptimeSeconds,
      logger: logger
    )
    let metricsRoute = MetricsRoute(
      requests: metrics,
      parts: [
        { $0.add(serverCount, rates.meters) }, { users.write(to: &$0) }, { [screens] in $0.add(screens.metrics) },
        { [forwarder] in if let client = forwarder?.client { $0.add(client) } },
        { if let backups { $0.add(backups.metrics) } },
      ],
      droppedLogLines: environment.droppedLogLines,
      uptimeSeconds: start.uptimeSeconds,
      // Not the clock of the environment, which a test may stop.
      monotonic: TimeSource.system.monotonic
    ).route
    openAPI = routes.openAPI(metricsRoute, executor: environment.placement.taskExecutor)
    let cors = CORSPolicy(origins: configuration.corsOrigins)
    let origins = OriginCheck(
      cors,
      own: configuration.mail.publicURL?.origin,
      logger: logger,
      monotonic: time.monotonic
    )
    let application = { [forwarder, openAPI] (loop: Int, isForOperator: Bool) throws -> Application in
      Application(
        tables: try routes.tables([metricsRoute, openAPI.route], isForOperator: isForOperator),
        cors: cors,
        origins: origins,
        limits: isForOperator ? .forOperator : configuration.limits,
        proxies: isForOperator ? nil : TrustedProxies(configuration.trustedProxies),
        isForOperator: isForOperator,
        nodes: isForOperator ? nil : forwarder?.credentials,
        ids: RequestIDs(start: start.millisecondsSince1970, loop: loop),
        rates: isForOperator ? nil : rates.ofAddress,
        metrics: metrics.shard(ofLoop: loop),
        accessLog: configuration.accessLog ? AccessLog(logger) : nil,
        logger: logger,
        monotonic: time.monotonic
      )
    }
    applications = try (0..<loops).map { try application($0, false) }
    operatorApplication = users.storage.operatorSocket == nil ? nil : try application(loops, true)
  }

  /// Sets the URL at which other nodes reach this one: the operator's, or the one that the server listens
  /// at, if that is of loopback. Warns and returns nil if others cannot reach it.
  private static func announceAddress(
    _ configuration: Configuration,
    listeningAt address: String,
    _ feed: CommitFeed?,
    _ logger: Logger
  ) -> String? {
    let isLoopback = ServerURL(address).flatMap { IPAddress($0.address.host) }?.isLoopback == true
    let found = configuration.nodeAddress.map { "\($0)" } ?? (isLoopback ? address : nil)
    guard let feed else { return found }
    if let found {
      feed.setAddress(found)
    } else {
      logger.log(
        .warning,
        "other nodes of this store cannot reach the screens of this one: set --node-address to the URL at which they "
          + "reach it"
      )
    }
    return found
  }
}

/// When the server was started.
private struct ServerStart: Sendable {
  let millisecondsSince1970: Int64
  let uptimeSeconds: @Sendable () -> Double

  init(_ time: TimeSource) {
    millisecondsSince1970 = time.millisecondsSince1970()
    let (start, monotonic) = (time.monotonic(), time.monotonic)
    uptimeSeconds = { Double(monotonic() - start) / 1_000_000_000 }
  }

  var time: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970) }
}

/// The limits of requests by token and by address.
private struct RequestRates: Sendable {
  let ofToken: RateMeter?
  let ofAddress: AddressRates?

  init(_ configuration: Configuration, _ time: TimeSource) {
    ofToken = configuration.tokenRate.map { RateMeter($0, by: .token, monotonic: time.monotonic) }
    ofAddress = configuration.addressRate.map {
      AddressRates(meter: RateMeter($0, by: .address, monotonic: time.monotonic))
    }
  }

  var meters: [RateMeter] { [ofToken, ofAddress?.meter].compactMap { $0 } }
}
