import LockstepCollections
import LockstepHTTP

/// A resource as a client gets it. The same cursor means the same bytes.
package struct Representation: Sendable {
  /// The cursor in the ETag, and in the body if it has one.
  package let cursor: Cursor
  /// The text of the cursor.
  package let tag: String
  package let body: [UInt8]
  /// The fields that a 304 has too: the ETag and the caching rules.
  package let validatorFields: HeaderFields
  /// All of its fields.
  package let fields: HeaderFields

  /// A JSON resource at a cursor. `link` leads to the next page, if there is one.
  package init(cursor: Cursor, body: [UInt8], link: String? = nil) {
    self.cursor = cursor
    self.body = body
    tag = cursor.text
    validatorFields = Self.validatorFields(ofTag: tag)
    var fields = validatorFields
    fields.append(.contentType, "application/json")
    if let link { fields.append(.link, link) }
    self.fields = fields
  }

  /// The fields that a 304 has too.
  package static func validatorFields(ofTag tag: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return fields
  }
}
