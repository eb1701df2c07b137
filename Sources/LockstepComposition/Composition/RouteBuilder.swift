import LockstepAdministration
import LockstepHTTP
import LockstepLogging
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens

/// Makes the routes of a server. Each event loop gets its own, because loops would contend for the reference count of a
/// shared response.
struct RouteBuilder: Sendable {
  let configuration: Configuration
  let users: UserServices
  let readiness: Readiness
  let node: AdminStatusRoutes.Node
  let screens: ScreenDirectory
  let forwarder: ScreenForwarder?
  let tokenRates: RateMeter?
  let metrics: RequestMetrics
  let uptimeSeconds: @Sendable () -> Double
  let logger: Logger

  /// The tables of an event loop, with the routes that describe the server itself. `isForOperator`: with the routes that
  /// only the socket for the operator's commands has.
  func tables(_ own: [Route], isForOperator: Bool) throws -> RouteTables {
    let declared = declared()
    var routes = fixed() + own
    routes.append(IndexRoute.route(users.modules.all) { [routes] in routes + declared.all })
    if isForOperator { routes += users.operatorRoutes(configuration, logger) }
    return RouteTables(try RouteTable(routes, metrics)) { head throws(Problem) in try declared.table(for: head) }
  }

  func openAPI(_ metricsRoute: Route, executor: (any TaskExecutor)?) -> OpenAPIRoute {
    OpenAPIRoute(users.modules.all, executor: executor) {
      fixed() + [metricsRoute, IndexRoute.route(users.modules.all) { [] }] + declared().all
    }
  }

  /// The routes that do not depend on declared collections.
  private func fixed() -> [Route] {
    var routes = HealthRoutes(readiness: readiness).routes + ProblemRoutes.routes + FileRoutes.routes
    routes += AccountPageRoutes.routes
    if configuration.inspector, configuration.administratorToken?.isEmpty == false { routes += InspectorRoutes.routes }
    let screenRoutes = users.screenRoutes(configuration, screens, rates: tokenRates, forwarder, logger)
    let administration = users.administrationRoutes(
      configuration,
      node,
      screens: screens,
      forwarder,
      uptimeSeconds: uptimeSeconds,
      logger
    )
    let own = users.routes(configuration, rates: tokenRates) + screenRoutes.routes + administration
    return routes + own.map(refusingWithoutLease)
  }

  private func declared() -> DeclaredRoutes {
    let make = users.declaredRoutes(configuration, rates: tokenRates, logger)
    return DeclaredRoutes(users.modules.all, metrics, lease: users.storage.feed?.lease) { declared in
      make(declared).map(refusingWithoutLease)
    }
  }

  /// A node of a fleet may not respond while others may have ended its lease.
  private func refusingWithoutLease(_ route: Route) -> Route {
    users.storage.feed.map { route.refusing(without: $0.lease) } ?? route
  }
}
