import LockstepAccounts
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
    let gate = AdministratorGate(
      AdministratorToken(configuration.administratorToken),
      tokens: serviceTokens,
      limiter: accounts.limiter,
      sessions: sessions
    ) { change, subject, agent in
      logger.log(.info, "administration", ["change": .string(change), "id": .string(subject), "by": .string(agent)])
    }
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
    routes.append(
      AdminJournalRoute(
        gate,
        store: store,
        modules: Set(modules.map(\.name)),
        readers: readers.readers,
        commits: commits,
        longestWait: wait,
        monotonic: time.monotonic
      )
      .route
    )
    if let screens {
      routes += AdminScreenRoutes(gate, screens, clock: clock, longestWait: wait, forwarder: forwarder).routes
    }
    routes +=
      AdminStatusRoutes(
        gate,
        node,
        waiters: waiters,
        commits: commits,
        screens: screens,
        clock: clock,
        uptimeSeconds: uptimeSeconds
      )
      .routes
    let ending = reader(configuration, sessions.acting(gate, changing: .users, cache: cache, readers: readers))
    routes += AccountsRoutes(ending, accounts, accountsLedger, export).routesOfUser.map(\.ofUser)
    let acting = reader(configuration, sessions.acting(gate, cache: cache, readers: readers))
    return routes + stateRoutes(acting).map(\.ofUser)
  }
}
