import LockstepAccounts
import LockstepAdministration
import LockstepCollections
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
    screens: ScreenDirectory?,
    _ forwarder: ScreenForwarder?,
    uptimeSeconds: @escaping @Sendable () -> Double,
    _ logger: Logger
  ) -> [Route] {
    let sessions = authenticator(nil)
    let gate = gate(configuration, logger)
    let plain = reader(configuration, sessions)
    let clock = MonotonicTimeConverter(time)
    let wait = configuration.longestWait
    var routes = ServiceTokenRoutes(gate, accountsLedger).routes
    routes +=
      AdminUserRoutes(gate, plain, accounts, accountsLedger, now: time.now) { [states] in
        try states.load($0, from: $1)
      }
      .routes
    routes += RegisteredRoutes(plain, gate: gate, quota: defaults.quota).routes
    routes += AdminCollectionRoutes(gate, declared, ledger).routes
    routes +=
      WebhookRoutes(
        gate,
        accountsLedger,
        readers: readers.readers,
        flag: writer.stateEventFlag,
        worker: deliveries,
        refusesHost: { [webhookSender] in webhookSender.refuses(host: $0) },
        now: time.now
      )
      .routes
    routes.append(
      AdminJournalRoute(
        gate,
        store: store,
        modules: modules,
        readers: readers.readers,
        commits: commits,
        longestWait: wait,
        monotonic: time.monotonic,
        lease: feed?.lease
      )
      .route
    )
    if let screens {
      routes +=
        AdminScreenRoutes(
          gate,
          screens,
          clock: clock,
          longestWait: wait,
          lease: feed?.lease,
          forwarder: forwarder
        )
        .routes
    }
    routes +=
      AdminStatusRoutes(
        gate,
        node,
        waiters: waiters,
        commits: commits,
        screens: screens,
        issuers: { [identities] in identities?.statuses ?? [] },
        clock: clock,
        uptimeSeconds: uptimeSeconds
      )
      .routes
    let ending = reader(configuration, sessions.acting(gate, changing: .users, cache: cache, readers: readers))
    routes += AccountsRoutes(ending, accounts, accountsLedger, mail, export).routesOfUser.map(\.ofUser)
    return routes + stateRoutes(acting(configuration, gate)).map(\.ofUser)
  }

  private func gate(_ configuration: Configuration, _ logger: Logger) -> AdministratorGate {
    AdministratorGate(
      AdministratorToken(configuration.administratorToken),
      tokens: serviceTokens,
      limiter: accounts.limiter,
      sessions: authenticator(nil)
    ) { change, subject, agent in
      logger.log(.info, "administration", ["change": .string(change), "id": .string(subject), "by": .string(agent)])
    }
  }

  /// Reads the states of the users that administrators' requests name.
  private func acting(_ configuration: Configuration, _ gate: AdministratorGate) -> StateReader {
    reader(configuration, authenticator(nil).acting(gate, cache: cache, readers: readers))
  }

  /// Makes the routes of a declared collection, for users and for administrators.
  func declaredRoutes(
    _ configuration: Configuration,
    rates: RateMeter?,
    _ logger: Logger
  ) -> @Sendable (DeclaredModule) -> [Route] {
    let users = reader(configuration, authenticator(rates))
    let administrators = acting(configuration, gate(configuration, logger))
    let writer = { [bodies, ledger] in StateWriter($0, bodies: bodies, ledger: ledger) }
    let (writing, acting) = (writer(users), writer(administrators))
    return { declared in
      ModuleRoutes.routes(of: declared, reading: users, writing: writing)
        + ModuleRoutes.routes(of: declared, reading: administrators, writing: acting).map(\.ofUser)
    }
  }
}
