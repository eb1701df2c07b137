import HTTP

/// A resource as a client gets it: the same cursor means the same bytes.
struct Representation: Sendable {
  /// What the ETag is made of, and the `cursor` in the body where there is one.
  let cursor: Cursor
  let body: [UInt8]
  /// The fields that belong to it: its type, its ETag, how it may be cached.
  var fields: HeaderFields

  /// A resource at a cursor, as JSON.
  init(cursor: Cursor, body: [UInt8]) {
    self.cursor = cursor
    self.body = body
    var fields = HeaderFields()
    fields.append(.contentType, "application/json")
    fields.append(contentsOf: Self.validatorFields(ofTag: cursor.text))
    self.fields = fields
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
