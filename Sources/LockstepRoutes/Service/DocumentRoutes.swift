import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepThreading

/// A document that stays the same as long as the server runs. Its ETag is a hash of its bytes.
package struct PreparedDocument: Sendable {
  package let bytes: [UInt8]
  private let whole: Response
  private let unmodified: Response
  private let tag: String

  init(_ json: JSON) { self.init(json.encoded(), contentType: "application/json") }

  /// `vary` names the request's fields that the document depends on.
  init(_ bytes: [UInt8], contentType: String, vary: String? = nil) {
    self.bytes = bytes
    tag = Digest.text(of: bytes)
    var fields = HeaderFields([.etag: "\"\(tag)\"", .cacheControl: "no-cache"])
    if let vary { fields.append(.vary, vary) }
    unmodified = Response(status: .notModified, fields: fields)
    fields.append(.contentType, contentType)
    fields.append(contentsOf: .forBrowsers)
    whole = Response(status: .ok, fields: fields, body: .bytes(bytes))
  }

  /// The document, or 304. Throws `invalid-parameter` if a precondition is malformed.
  func respond(to request: Request) throws(Problem) -> HandlerResult {
    .response(try Preconditions(of: request.head).isFresh(tag) ? unmodified : whole)
  }
}

extension RouteDescription {
  static func document(
    _ name: String,
    part: String = "Service",
    shows schema: JSON,
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: part,
      parameters: [.ifNoneMatch],
      responses: [.shown(schema, fields: [.etag, .cacheControl]), .unmodified],
      problems: [.invalidParameter],
      schemas: schemas
    )
  }
}

/// `GET /openapi.json`: the description of every route. The first request makes it from the route
/// table, outside the event loops.
package final class OpenAPIRoute: Sendable {
  package static let pattern = "/openapi.json"

  private let routes: [Route]
  private let made = LockedState<PreparedDocument?>(nil)
  private let executor: any TaskExecutor

  /// Without an executor, the document is made on one of Swift's own threads.
  package init(describing routes: [Route], executor: (any TaskExecutor)? = nil) {
    self.executor = executor ?? globalConcurrentExecutor
    self.routes = routes + [Self.route { _ in throw Problem(.notFound) }]
  }

  package var route: Route {
    Self.route { request in
      if let document = self.made.withLock({ $0 }) { return try document.respond(to: request) }
      return .async {
        try await withTaskExecutorPreference(self.executor) { try self.document().respond(to: request) }
      }
    }
  }

  /// The document. The first call takes some milliseconds.
  package func document() -> PreparedDocument {
    if let document = made.withLock({ $0 }) { return document }
    // Made without the lock, because an event loop may wait for the lock. A concurrent call may
    // make the same document again.
    let document = PreparedDocument(OpenAPIDocument.json(of: routes))
    made.withLock { $0 = document }
    return document
  }

  private static func route(_ handler: @escaping Handler) -> Route {
    Route(.get, pattern, summary: "Describes this service in OpenAPI 3.1.", handler: handler)
      .described(.document("getDescription", shows: .schema(["openapi": ["const": "3.1.0"]])))
  }
}
