import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI

/// `GET /`: links to all `GET` routes without a parameter in the path, made from the route table.
/// Browsers get a page.
package enum IndexRoute {
  package static let pattern = "/"

  package static func route(_ modules: Modules?, listing routes: @escaping @Sendable () -> [Route]) -> Route {
    let document = ModuleDocument(modules) { _ in Self.document(listing: routes()) }
    let page = ModuleDocument(modules) { _ in
      PreparedDocument(Array(Self.page(listed(routes())).utf8), contentType: "text/html; charset=utf-8", vary: "Accept")
    }
    return Route(.get, pattern, summary: "Lists paths to start from; browsers get a page.") { request in
      try (request.head.wantsPage ? page : document).document.respond(to: request)
    }
    .described(description)
  }

  private static func listed(_ routes: [Route]) -> [Route] {
    routes.filter { route in
      route.method == .get && !route.pattern.contains("{") && !InspectorRoutes.isFile(route.pattern)
        && !AccountPageRoutes.isFile(route.pattern)
    }
  }

  private static func document(listing routes: [Route]) -> PreparedDocument {
    var links = JSONObject()
    for route in listed(routes) { links[String(route.pattern.dropFirst())] = .string(route.pattern) }
    let index: JSON = ["name": "lockstep", "version": .string(lockstepVersion), "links": .object(links)]
    return PreparedDocument(index.encoded(), contentType: "application/json", vary: "Accept")
  }

  /// The page. The routes below `/v1` need a token, which a link cannot send, so they are not linked.
  private static func page(_ routes: [Route]) -> String {
    let links = routes.filter { !$0.pattern.hasPrefix("/v1/") && $0.pattern != pattern }.map { route in
      "<li><a href=\"\(escaped(route.pattern))\">\(escaped(route.pattern))</a>: \(escaped(route.summary))</li>"
    }
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>Lockstep</title>
      </head>
      <body>
      <main>
      <h1>Lockstep \(lockstepVersion)</h1>
      <p>This server keeps each user's state in sync on all of the user's devices.</p>
      <ul>
      \(links.joined(separator: "\n"))
      </ul>
      <p>Apps use the paths below <code>/v1</code>, which need a token. <a href="/openapi.json">/openapi.json</a>
      describes them.</p>
      </main>
      </body>
      </html>

      """
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  private static var description: RouteDescription {
    let index = JSON.schema([
      "name": ["const": "lockstep"], "version": .textSchema,
      "links": ["type": "object", "additionalProperties": .textSchema],
    ])
    let response = RouteResponse(
      .ok,
      "The links.",
      fields: [.etag, .cacheControl, .vary],
      content: [("application/json", index), ("text/html", .textSchema)]
    )
    return RouteDescription(
      "getIndex",
      part: "Service",
      parameters: [.ifMatchOfRead, .ifNoneMatch],
      responses: [response, .unmodified],
      problems: [.invalidParameter]
    )
  }
}
