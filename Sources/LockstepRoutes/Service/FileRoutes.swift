import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepThreading
import LockstepWebFiles

/// A file that stays the same as long as the server runs. Its ETag is a hash of its bytes. The first
/// request that accepts gzip compresses it.
package struct StaticFile: Sendable {
  let path: String
  let contentType: String
  private let tag: String
  private let whole: Response
  private let unmodified: Response
  private let gzipped = Gzipped()

  private final class Gzipped: Sendable {
    let response = LockedState<Response?>(nil)
  }

  /// `fields` are those of each response with the bytes.
  package init(
    _ path: String,
    _ bytes: [UInt8],
    contentType: String,
    cacheControl: String = "no-cache",
    fields additional: HeaderFields = .forBrowsers
  ) {
    self.path = path
    self.contentType = contentType
    tag = Digest.text(of: bytes)
    var fields = HeaderFields([.etag: "\"\(tag)\"", .cacheControl: cacheControl])
    unmodified = Response(status: .notModified, fields: fields)
    fields.append(.contentType, contentType)
    fields.append(contentsOf: additional)
    whole = Response(status: .ok, fields: fields, body: .bytes(bytes))
  }

  /// The file, or 304. Throws if a precondition is malformed or not met.
  func respond(to request: Request) throws(Problem) -> HandlerResult {
    let preconditions = try Preconditions(of: request.head)
    try preconditions.checkRead(of: tag)
    if preconditions.isFresh(tag) { return .response(unmodified) }
    guard Compression.applies(to: whole), ContentCoding.preferred(by: request.head) == .gzip else {
      return .response(whole)
    }
    if let response = gzipped.response.withLock({ $0 }) { return .response(response) }
    return .async {
      var response = await Compression.compressed(whole, level: 9)
      // The application adds `Vary` to a response only if it could compress it.
      response.fields.append(.vary, "Accept-Encoding")
      gzipped.response.withLock { $0 = response }
      return .response(response)
    }
  }
}

/// Files that browsers load: the JavaScript client and its types.
package enum FileRoutes {
  package static var routes: [Route] {
    [
      (WebFile.client, "The JavaScript client", "text/javascript; charset=utf-8", "Client"),
      (WebFile.clientTypes, "The JavaScript client's TypeScript types", "text/plain; charset=utf-8", "ClientTypes"),
    ]
    .flatMap { file, title, type, name in
      let newest = StaticFile("/\(file.name)", file.bytes, contentType: type)
      let path = "/lockstep-\(lockstepVersion)\(file.name.dropFirst("lockstep".count))"
      let fixed = StaticFile(path, file.bytes, contentType: type, cacheControl: "public, max-age=31536000, immutable")
      return [
        route(newest, summary: "\(title).", name: "get\(name)"),
        route(fixed, summary: "\(title) of this version. Caches may keep it.", name: "getVersioned\(name)"),
      ]
    }
  }

  package static func route(_ file: StaticFile, summary: String, name: String) -> Route {
    Route(.get, file.path, summary: summary) { request in try file.respond(to: request) }
      .described(
        RouteDescription(
          name,
          part: "Service",
          parameters: [.ifMatchOfRead, .ifNoneMatch],
          responses: [
            RouteResponse(
              .ok,
              "The file.",
              fields: [.etag, .cacheControl],
              content: [(String(file.contentType.prefix { $0 != ";" }), .textSchema)]
            ),
            .unmodified,
          ],
          problems: [.invalidParameter]
        )
      )
  }
}
