import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepThreading

/// `GET /openapi.json`: the description of every route. It is made from the route table at the
/// first request, not on an event loop.
package final class OpenAPIRoute: Sendable {
  package static let pattern = "/openapi.json"

  private let routes: [Route]
  private let made = LockedState<PreparedDocument?>(nil)

  package init(describing routes: [Route]) {
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

  /// The document. The first call takes some milliseconds.
  package func document() -> PreparedDocument {
    if let document = made.withLock({ $0 }) { return document }
    // Made without the lock, because an event loop may wait for the lock. A concurrent call makes
    // the same document.
    let document = PreparedDocument(OpenAPIDocument.json(of: routes))
    made.withLock { $0 = document }
    return document
  }

  private static func route(_ handler: @escaping Handler) -> Route {
    Route(.get, pattern, summary: "Describes this service in OpenAPI 3.1.", handler: handler).described(
      PreparedDocument.described(
        "getDescription",
        part: "Service",
        shows: .schema(["openapi": ["const": "3.1.0"]])
      )
    )
  }
}
