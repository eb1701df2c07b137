import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// `GET /`: links to all routes without parameters, made from the route table.
package enum IndexRoute {
  package static let pattern = "/"

  package static func route(listing routes: [Route]) -> Route {
    let document = PreparedDocument(document(listing: routes))
    return Route(.get, pattern, summary: "Lists links to begin with.") { request in try document.answer(to: request) }
      .described(
        PreparedDocument.described(
          "getIndex",
          part: "Service",
          shows: .schema([
            "name": ["const": "lockstep"], "version": .textSchema,
            "links": ["type": "object", "additionalProperties": .textSchema],
          ])
        )
      )
  }

  private static func document(listing routes: [Route]) -> JSON {
    var links = JSONObject()
    for route in routes where route.method == .get && !route.pattern.contains("{") {
      links[String(route.pattern.dropFirst())] = .string(route.pattern)
    }
    return ["name": "lockstep", "version": .string(lockstepVersion), "links": .object(links)]
  }
}
