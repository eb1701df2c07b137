import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepThreading

/// `GET /openapi.json`: what every route takes and answers, for programs to read. It's made from the route table, so it can't
/// name what isn't there, when somebody asks for it first, beside the loops.
package final class OpenAPIRoute: Sendable {
  package static let pattern = "/openapi.json"

  private let routes: [Route]
  private let made = LockedState<PreparedDocument?>(nil)

  /// The route, over the table of all others.
  package init(describing routes: [Route]) {
    // All that is said of a route is known before it can answer.
    self.routes = routes + [Self.route { _ in throw Problem(.notFound) }]
  }

  package var route: Route {
    Self.route { request in
      if let document = self.made.withLock({ $0 }) { return try document.answer(to: request) }
      return .async {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try self.document().answer(to: request) }
      }
    }
  }

  /// What is answered. The first call takes some milliseconds.
  package func document() -> PreparedDocument {
    if let document = made.withLock({ $0 }) { return document }
    // Not under the lock, which a loop may want. Who comes meanwhile makes the same.
    let document = PreparedDocument(OpenAPIDocument.json(of: routes))
    made.withLock { $0 = document }
    return document
  }

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
