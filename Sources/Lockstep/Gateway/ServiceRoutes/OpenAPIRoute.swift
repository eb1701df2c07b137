import HTTP
import JSON

/// `GET /openapi.json`: what every route takes and answers, for programs to read. It's made from the route table, so it can't
/// name what isn't there.
struct OpenAPIRoute: Sendable {
  static let pattern = "/openapi.json"

  /// What is answered.
  let document: PreparedDocument

  /// The route, over the table of all others.
  init(describing routes: [Route]) {
    // All that is said of a route is known before it can answer.
    let itself = Self.route { _ in throw Problem(.notFound) }
    document = PreparedDocument(OpenAPIDocument.json(of: routes + [itself]))
  }

  var route: Route { Self.route { [document] request in try document.answer(to: request) } }

  private static func route(_ handler: @escaping Handler) -> Route {
    Route(.get, pattern, summary: "This service's description in OpenAPI 3.1.", handler: handler).described(
      PreparedDocument.described(
        "getDescription",
        part: "Service",
        shows: .schema(ofObject: [SchemaMember(name: "openapi", schema: ["const": "3.1.0"])])
      )
    )
  }
}
