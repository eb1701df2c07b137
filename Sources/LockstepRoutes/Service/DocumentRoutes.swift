import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepThreading

/// A document that stays the same as long as the server runs. Its ETag is a hash of its bytes.
package struct PreparedDocument: Sendable {
  package let bytes: [UInt8]
  private let whole: Response
  private let unmodified: Response
  private let tag: String

  package init(_ json: JSON) { self.init(json.encoded(), contentType: "application/json") }

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

  /// The document, or 304. Throws if a precondition is malformed or not met.
  func respond(to request: Request) throws(Problem) -> HandlerResult {
    let preconditions = try Preconditions(of: request.head)
    try preconditions.checkRead(of: tag)
    return .response(preconditions.isFresh(tag) ? unmodified : whole)
  }
}

/// A document about the modules. It is made again when a declared collection has changed.
package final class ModuleDocument: Sendable {
  private let modules: Modules?
  private let make: @Sendable (ModuleSet) -> PreparedDocument
  private let made = LockedState<(version: Int, document: PreparedDocument)?>(nil)

  /// Without modules, the document stays the same as long as the server runs.
  package init(_ modules: Modules?, _ make: @escaping @Sendable (ModuleSet) -> PreparedDocument) {
    (self.modules, self.make) = (modules, make)
  }

  /// The document if it is up to date.
  var prepared: PreparedDocument? {
    let version = modules?.version ?? 0
    return made.withLock { $0?.version == version ? $0?.document : nil }
  }

  package var document: PreparedDocument {
    if let prepared { return prepared }
    // Made without the lock, because an event loop may wait for the lock. A concurrent call may
    // make the same document again.
    let version = modules?.version ?? 0
    let document = make(modules?.current ?? ModuleSet([]))
    made.withLock { $0 = (version, document) }
    return document
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
      parameters: [.ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(schema, fields: [.etag, .cacheControl]), .unmodified],
      problems: [.invalidParameter],
      schemas: schemas
    )
  }
}

/// `GET /openapi.json`: the description of every route. The first request makes it from the routes,
/// outside the event loops.
package final class OpenAPIRoute: Sendable {
  package static let pattern = "/openapi.json"

  private let made: ModuleDocument
  private let executor: any TaskExecutor
  /// The routes that the document describes.
  package let described: @Sendable () -> [Route]

  /// Without an executor, the document is made on one of Swift's own threads.
  package init(
    _ modules: Modules?,
    executor: (any TaskExecutor)? = nil,
    describing routes: @escaping @Sendable () -> [Route]
  ) {
    self.executor = executor ?? globalConcurrentExecutor
    let described = { @Sendable in routes() + [Self.route { _ in throw Problem(.notFound) }] }
    self.described = described
    made = ModuleDocument(modules) { _ in PreparedDocument(OpenAPIDocument.json(of: described())) }
  }

  package var route: Route {
    Self.route { request in
      if let document = self.made.prepared { return try document.respond(to: request) }
      return .async {
        try await withTaskExecutorPreference(self.executor) { try self.document().respond(to: request) }
      }
    }
  }

  /// The document. The first call takes some milliseconds.
  package func document() -> PreparedDocument { made.document }

  private static func route(_ handler: @escaping Handler) -> Route {
    Route(.get, pattern, summary: "Describes this service in OpenAPI 3.1.", handler: handler)
      .described(.document("getDescription", shows: .schema(["openapi": ["const": "3.1.0"]])))
  }
}
