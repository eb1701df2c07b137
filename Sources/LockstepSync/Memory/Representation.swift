import LockstepCollections
import LockstepHTTP

/// A resource as a client gets it: the same cursor means the same bytes.
package struct Representation: Sendable {
  /// What the ETag is made of, and the `cursor` in the body where there is one.
  package let cursor: Cursor
  /// That as text.
  package let tag: String
  package let body: [UInt8]
  /// What a 304 says too: its ETag, how it may be cached.
  package let validatorFields: HeaderFields
  /// All fields that belong to it.
  package let fields: HeaderFields

  /// A resource at a cursor, as JSON. `link` is what comes after it, where it's a part of something.
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

  /// What a 304 says too.
  package static func validatorFields(ofTag tag: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return fields
  }
}
