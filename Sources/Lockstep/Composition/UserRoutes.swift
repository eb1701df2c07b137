import LockstepAccounts
import LockstepHTTP
import LockstepHTTPServer
import LockstepMaintenance
import LockstepMiddleware
import LockstepReactor
import LockstepRoutes
import LockstepSync
import LockstepTime

/// The routes of users: accounts, modules, feed and administration.
struct UserRoutes: Sendable {
  let users: UserServices
  let administratorToken: AdministratorToken
  /// The longest wait, in seconds.
  let longestWait: Int
  let time: TimeSource
  /// The rate limit of each token; nil for none.
  var rates: RateMeter?

  var authenticator: TokenAuthenticator {
    TokenAuthenticator(
      directory: users.accounts.directory,
      millisecondsSince1970: time.millisecondsSince1970,
      rates: rates
    )
  }

  var routes: [Route] {
    let reading = StateReader(
      store: users.store,
      sessions: authenticator,
      cache: users.cache,
      registry: users.registry,
      history: users.history,
      readers: users.readers,
      waiters: users.waiters,
      longestWait: longestWait,
      backgroundEncoder: users.backgroundEncoder
    )
    let writing = StateWriter(reading, ledger: users.ledger)
    let export = UserExport(
      store: users.store,
      account: { [accounts = users.accounts] in try accounts.export($0, from: $1) },
      states: users.states,
      present: { [cache = users.cache] in try await cache.load($0).state },
      registered: { [registry = users.registry] in registry.current.revision },
      readers: users.readers,
      own: users.own
    )
    var routes = AccountsRoutes(reading, users.accounts, users.accountsLedger, export).routes
    func moduleRoutes(_ module: UserModule) -> [Route] {
      ModuleRoutes(module: module, reading: reading, writing: writing).routes
    }
    let defaults = DefaultsRoutes(module: users.defaults, reading: reading, writing: writing)
    for module in users.modules.dropLast(users.own.count) {
      routes += module.hasParts ? defaults.routes : moduleRoutes(module)
    }
    routes.append(ActionsRoute(modules: users.modules, writing: writing).route)
    let feed = ChangesFeed(store: users.store, history: users.history)
    let modules = Set(users.modules.map(\.name))
    routes.append(ChangesRoute(reading, feed: feed, modules: modules, monotonic: time.monotonic).route)
    routes.append(JournalRoute(reading).route)
    routes += RegisteredRoutes(reading, token: administratorToken, quota: users.defaults.quota).routes
    routes += users.own.flatMap(moduleRoutes)
    return routes
  }
}
