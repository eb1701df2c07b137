import LockstepAccounts
import LockstepAdministration
import LockstepCollections
import LockstepAdministration
import LockstepHTTP
import LockstepLogging
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepSync

extension UserServices {
  /// The routes below `/v1/admin`.
  func administrationRoutes(
    _ configuration: Configuration,
    _ node: AdminStatusRoutes.Node,
    screens: ScreenDirectory,
    _ forwarder: ScreenForwarder?,
    uptimeSeconds: @escaping @Sendable () -> Double,
    _ logger: Logger
  ) -> [Route] {
    let sessions = authenticator(nil)
    let gate = gate(configuration, logger)
    let plain = reader(configuration, sessions)
    let clock = MonotonicTimeConverter(time)
    let wait = configuration.longestWait
    var routes = ServiceTokenRoutes(gate, states.accountsLedger).routes
    routes += userAdministration(gate, plain).routes
    routes += RegisteredRoutes(plain, gate: gate, quota: modules.defaults.quota).routes
    routes += AdminCollectionRoutes(gate, states.declared, states.ledger).routes
    routes +=
      WebhookRoutes(
        gate,
        states.accountsLedger,
        readers: storage.store.readers,
        flag: storage.writer.stateEventFlag,
        worker: delivery.worker,
        refusesHost: { [webhookSender = delivery.webhookSender] in webhookSender.refuses(host: $0) },
        now: time.now
      )
      .routes
    routes.append(
      AdminJournalRoute(
        gate,
        store: storage.id,
        modules: modules.all,
        readers: storage.store.readers,
        commits: states.commits,
        longestWait: wait,
        monotonic: time.monotonic,
        lease: storage.feed?.lease
      )
      .route
    )
    routes +=
      AdminScreenRoutes(
        gate,
        screens,
        clock: clock,
        longestWait: wait,
        lease: storage.feed?.lease,
        forwarder: forwarder
      )
      .routes
    routes +=
      AdminStatusRoutes(
        gate,
        node,
        waiters: states.waiters,
        commits: states.commits,
        screens: screens,
        issuers: { [identities = accounts.identities] in identities?.statuses ?? [] },
        clock: clock,
        uptimeSeconds: uptimeSeconds
      )
      .routes
    let ending = reader(
      configuration,
      sessions.acting(gate, changing: .users, cache: states.cache, readers: storage.readers)
    )
    routes += AccountsRoutes(ending, accounts.stored, states.accountsLedger, delivery.mail, export).routesOfUser.map(
      \.ofUser
    )
    return routes + stateRoutes(acting(configuration, gate)).map(\.ofUser)
  }

  private func userAdministration(_ gate: AdministratorGate, _ plain: StateReader) -> AdminUserRoutes {
    AdminUserRoutes(gate, plain, accounts.stored, states.accountsLedger, now: time.now) { [tables = modules.tables] in
      try tables.load($0, from: $1)
    }
  }

  /// The routes that only the socket for the operator's commands has.
  func operatorRoutes(_ configuration: Configuration, _ logger: Logger) -> [Route] {
    OperatorRoutes(gate(configuration, logger), accounts.stored, states.accountsLedger) {
      try await perform($0, key: $1)
    }
    .routes
  }

  /// Responds to the requests of an operator's command without a server.
  func operatorApplication(_ configuration: Configuration, _ logger: Logger) throws -> Application {
    let plain = reader(configuration, authenticator(nil))
    let routes =
      userAdministration(gate(configuration, logger), plain).routes + operatorRoutes(configuration, logger)
    let (metrics, cors) = (RequestMetrics(loops: 1), CORSPolicy(origins: []))
    return Application(
      tables: RouteTables(try RouteTable(routes, metrics)),
      cors: cors,
      origins: OriginCheck(cors, own: nil, logger: logger, monotonic: time.monotonic),
      limits: .forOperator,
      proxies: nil,
      isForOperator: true,
      ids: RequestIDs(start: time.millisecondsSince1970(), loop: 0),
      rates: nil,
      metrics: metrics.shard(ofLoop: 0),
      accessLog: nil,
      logger: logger,
      monotonic: time.monotonic
    )
  }

  private func gate(_ configuration: Configuration, _ logger: Logger) -> AdministratorGate {
    AdministratorGate(
      AdministratorToken(configuration.administratorToken),
      tokens: accounts.serviceTokens,
      limiter: accounts.stored.limiter,
      sessions: authenticator(nil)
    ) { change, subject, agent in
      logger.log(.info, "administration", ["change": .string(change), "id": .string(subject), "by": .string(agent)])
    }
  }

  /// Reads the states of the users that administrators' requests name.
  private func acting(_ configuration: Configuration, _ gate: AdministratorGate) -> StateReader {
    reader(configuration, authenticator(nil).acting(gate, cache: states.cache, readers: storage.readers))
  }

  /// Makes the routes of a declared collection, for users and for administrators.
  func declaredRoutes(
    _ configuration: Configuration,
    rates: RateMeter?,
    _ logger: Logger
  ) -> @Sendable (DeclaredModule) -> [Route] {
    let users = reader(configuration, authenticator(rates))
    let administrators = acting(configuration, gate(configuration, logger))
    let writer = { [bodies = encoding.bodies, ledger = states.ledger] in StateWriter($0, bodies: bodies, ledger: ledger)
    }
    let (writing, acting) = (writer(users), writer(administrators))
    return { declared in
      ModuleRoutes.routes(of: declared, reading: users, writing: writing)
        + ModuleRoutes.routes(of: declared, reading: administrators, writing: acting).map(\.ofUser)
    }
  }
}
