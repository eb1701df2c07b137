import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// `GET /`: where to begin. It's made from the route table, so it can't name what isn't there.
package enum IndexRoute {
  package static let pattern = "/"
  static let summary = "An index of links."

  /// The route, over the table of all others.
  package static func route(listing routes: [Route]) -> Route {
    let document = PreparedDocument(document(listing: routes))
    return Route(.get, pattern, summary: summary) { request in try document.answer(to: request) }
      .described(
        PreparedDocument.described(
          "getIndex",
          part: "Service",
          shows: .schema(ofObject: [
            SchemaMember(name: "name", schema: ["const": "lockstep"]),
            SchemaMember(name: "version", schema: .textSchema),
            SchemaMember(name: "links", schema: ["type": "object", "additionalProperties": .textSchema]),
          ])
        )
      )
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
