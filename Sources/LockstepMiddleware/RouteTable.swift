import LockstepHTTP

/// A route that a request has found, and where its requests are counted.
// A class, because each pending response holds it.
package final class MatchedRoute: Sendable {
  let route: Route
  let slot: Int

  init(_ route: Route, slot: Int) {
    (self.route, self.slot) = (route, slot)
  }
}

/// Routes with their checks and counts.
package final class RouteTable: Sendable {
  package let router: Router
  let queries: DeclaredQueries
  let matched: [MatchedRoute]

  /// `label` returns the pattern under which a route's requests are counted. Throws if two routes have
  /// the same method and path, or a pattern is malformed.
  package init(
    _ routes: [Route],
    _ metrics: RequestMetrics,
    label: (_ pattern: String) -> String = { $0 }
  ) throws(Router.TableError) {
    router = try Router(routes)
    queries = DeclaredQueries(routes)
    matched = routes.map { route in
      MatchedRoute(route, slot: metrics.slot(of: .init(method: route.method.name, pattern: label(route.pattern))))
    }
  }
}

/// The routes of an application: fixed ones, and more that may change while the server runs.
package struct RouteTables: Sendable {
  package let fixed: RouteTable
  /// The table for a path that no fixed route has.
  private let more: @Sendable (RequestHead) throws(Problem) -> RouteTable?

  package init(
    _ fixed: RouteTable,
    more: @escaping @Sendable (RequestHead) throws(Problem) -> RouteTable? = { _ throws(Problem) in nil }
  ) {
    (self.fixed, self.more) = (fixed, more)
  }

  func match(_ head: RequestHead) throws(Problem) -> (Router.Match, RouteTable) {
    let match = try fixed.router.match(head)
    guard case .notFound = match, let table = try more(head) else { return (match, fixed) }
    return (try table.router.match(head), table)
  }
}
