import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore

/// A document that stays the same as long as the server runs. Its ETag is made of its bytes.
package struct PreparedDocument: Sendable {
  package let bytes: [UInt8]
  private let whole: Response
  private let unmodified: Response
  private let tag: String

  init(_ json: JSON) {
    bytes = json.encoded()
    tag = Digest.text(of: bytes)
    var fields = HeaderFields([.etag: "\"\(tag)\"", .cacheControl: "no-cache"])
    unmodified = Response(status: .notModified, fields: fields)
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: .forBrowsers)
    whole = Response(status: .ok, fields: fields, body: .bytes(bytes))
  }

  /// The document, or 304. Throws `invalid-parameter` for a malformed list of tags.
  func answer(to request: Request) throws(Problem) -> HandlerResult {
    .response(try Preconditions(of: request.head).isFresh(tag) ? unmodified : whole)
  }

  /// The description of a route with such a document.
  static func described(_ name: String, part: String, shows schema: JSON) -> RouteDescription {
    RouteDescription(
      name,
      part: part,
      parameters: [.ifNoneMatch],
      answers: [.shown(schema, fields: [.etag, .cacheControl]), .unmodified],
      problems: [.invalidParameter]
    )
  }
}
