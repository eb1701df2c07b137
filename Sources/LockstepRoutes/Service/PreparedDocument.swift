import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore

/// A document that is the same for everybody for as long as the server runs, with an ETag made of its bytes: who has it
/// needn't be sent it again.
package struct PreparedDocument: Sendable {
  /// The document as it's sent.
  package let bytes: [UInt8]
  private let whole: Response
  private let unmodified: Response
  private let tag: String

  init(_ json: JSON) {
    bytes = json.encoded()
    tag = Digest.text(of: bytes)
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "no-cache")
    unmodified = Response(status: .notModified, fields: fields)
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: .forBrowsers)
    whole = Response(status: .ok, fields: fields, body: .bytes(bytes))
  }

  /// The document, or that the client has it already. Throws `invalid-parameter` where a list of tags can't be read.
  func answer(to request: Request) throws(Problem) -> HandlerResult {
    .response(try Preconditions(of: request.head).isFresh(tag) ? unmodified : whole)
  }

  /// What is said of a route that gives such a document of this schema.
  static func described(_ name: String, part: String, shows schema: JSON) -> RouteDescription {
    let fields: [RouteField] = [.etag, .cacheControl]
    return RouteDescription(
      name,
      part: part,
      parameters: [.ifNoneMatch],
      answers: [RouteAnswer(.ok, "The document.", fields: fields, json: schema), .unmodified],
      problems: [.invalidParameter]
    )
  }
}
