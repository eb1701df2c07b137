import HTTP

/// A resource as a client gets it: the same cursor means the same bytes.
struct Representation: Sendable {
  /// What the ETag is made of, and the `cursor` in the body where there is one.
  let cursor: Cursor
  let body: [UInt8]
  /// What a 304 says too: its ETag, how it may be cached.
  let validatorFields: HeaderFields
  /// A link to what comes after it, where it's a part of something.
  var link: String?

  /// All fields that belong to it.
  var fields: HeaderFields {
    var fields = validatorFields
    fields.append(.contentType, "application/json")
    if let link { fields.append(.link, link) }
    return fields
  }

  /// A resource at a cursor, as JSON.
  init(cursor: Cursor, body: [UInt8]) {
    self.cursor = cursor
    self.body = body
    validatorFields = Self.validatorFields(ofTag: cursor.text)
  }

  /// What a 304 says too.
  static func validatorFields(ofTag tag: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.etag, "\"\(tag)\"")
    fields.append(.cacheControl, "private, no-cache")
    fields.append(.vary, "Authorization, Prefer, Accept")
    return fields
  }
}
