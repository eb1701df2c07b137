import HTTP
import JSON

/// `GET /`: where to begin. It's made from the route table, so it can't name what isn't there.
enum IndexRoute {
  static let pattern = "/"
  static let summary = "An index of links."

  /// The route, over the table of all others.
  static func route(listing routes: [Route]) -> Route {
    let response = Response.json(document(listing: routes))
    return Route(.get, pattern, summary: summary) { _ in .now(response) }
  }

  private static func document(listing routes: [Route]) -> JSON {
    var links = JSONObject()
    for route in routes where route.method == .get && !route.pattern.contains("{") {
      links[String(route.pattern.dropFirst())] = .string(route.pattern)
    }
    return .object([
      "name": "lockstep", "version": .string(lockstepVersion), "links": .object(links),
    ])
  }
}
