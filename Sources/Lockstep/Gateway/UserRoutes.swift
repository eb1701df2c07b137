import HTTP
import HTTPServer

/// The routes of everything that belongs to users.
struct UserRoutes: Sendable {
  let users: UserServices
  let administratorToken: AdministratorToken
  let time: ServerTime

  var routes: [Route] {
    let gate = SessionGate(directory: users.accounts.directory, millisecondsSince1970: time.millisecondsSince1970)
    let reading = StateReading(
      store: users.store,
      gate: gate,
      cache: users.cache,
      registry: users.registry,
      history: users.history,
      readers: users.readers
    )
    let writing = StateWriting(store: users.store, gate: gate, ledger: users.ledger)
    let export = UserExport(
      store: users.store,
      accounts: users.accounts,
      states: users.states,
      readers: users.readers
    )
    let registered = RegisteredRoutes(
      store: users.store,
      token: administratorToken,
      registry: users.registry,
      quota: users.defaults.quota
    )
    let cache = users.cache
    return AccountsRoutes(accounts: users.accounts, gate: gate, export: export, forget: { cache.forget($0) }).routes
      + FavoritesRoutes(module: users.favorites, reading: reading, writing: writing).routes
      + DefaultsRoutes(module: users.defaults, reading: reading, writing: writing).routes
      + ProfileRoutes(module: users.profile, reading: reading, writing: writing).routes
      + [ActionsRoute(modules: users.modules, writing: writing).route]
      + registered.routes
  }
}
