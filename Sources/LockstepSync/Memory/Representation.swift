import LockstepCollections
import LockstepHTTP

/// A resource as clients get it. Representations with equal cursors have equal bytes.
// A class, because every read of a cached representation would copy all parts of a struct.
package final class Representation: Sendable {
  /// The cursor in the ETag, and in the body if the body has one.
  package let cursor: Cursor
  package let tag: String
  package let body: Response.Body
  /// The fields that a 304 response also has: the ETag and the rules for caching.
  package let validatorFields: HeaderFields
  package let fields: HeaderFields

  /// A representation in JSON.
  package convenience init(cursor: Cursor, body: [UInt8]) {
    self.init(cursor: cursor, body: .bytes(body))
  }

  /// Creates a representation in JSON. `link` is the value of the `Link` field, if there is one.
  package init(cursor: Cursor, body: Response.Body, link: String? = nil) {
    self.cursor = cursor
    self.body = body
    tag = cursor.text
    validatorFields = Self.validatorFields(ofTag: tag)
    var fields = validatorFields
    fields.append(.contentType, "application/json")
    if let link { fields.append(.link, link) }
    self.fields = fields
  }

  package static func validatorFields(ofTag tag: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.etag, "\"" + tag + "\"")
    fields.append(contentsOf: cachingFields)
    return fields
  }

  private static let cachingFields: HeaderFields = {
    var fields = HeaderFields()
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return fields
  }()
}
