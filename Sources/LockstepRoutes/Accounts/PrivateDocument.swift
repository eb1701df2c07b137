import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore

/// A document for one user alone, such as their account. Its tag is made of its bytes.
struct PrivateDocument: Sendable {
  let json: JSON
  let tag: String

  /// A document. Members that change by themselves, such as `lastSeenAt`, do not count for the tag.
  init(_ object: JSONObject, passingOver ignored: Set<String> = []) {
    json = .object(object)
    var counted = object
    counted.removeAll { name, _ in ignored.contains(name) }
    tag = Digest.text(of: JSON.object(counted).encoded())
  }

  /// The response to a `GET`.
  func response(_ preconditions: Preconditions) -> Response {
    var fields = HeaderFields.ofPrivateDocument(tag: tag)
    if preconditions.isFresh(tag) { return Response(status: .notModified, fields: fields) }
    fields.append(.contentType, "application/json")
    return Response(status: .ok, fields: fields, body: .bytes(json.encoded()))
  }
}

extension HeaderFields {
  /// The fields that a document for one user alone has, in its 304 too.
  static func ofPrivateDocument(tag: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization")
    return fields
  }
}
