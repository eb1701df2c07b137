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

  /// Creates a representation in JSON.
  package convenience init(cursor: Cursor, body: [UInt8]) {
    self.init(cursor, tag: cursor.text, body: .bytes(body), link: nil)
  }

  /// Creates a representation that is a JSON object with the cursor as its first member. `rest` is
  /// the text of the other members and the closing brace.
  package convenience init(cursor: Cursor, rest: [UInt8]) {
    let tag = cursor.text
    var body: [UInt8] = []
    body.reserveCapacity(rest.count + tag.utf8.count + 13)
    body.append(contentsOf: #"{"cursor":""#.utf8)
    body.append(contentsOf: tag.utf8)
    body.append(contentsOf: #"","#.utf8)
    body.append(contentsOf: rest)
    self.init(cursor, tag: tag, body: .bytes(body), link: nil)
  }

  /// Creates a representation in JSON. `link` is the value of the `Link` field, if there is one.
  package convenience init(cursor: Cursor, body: Response.Body, link: String? = nil) {
    self.init(cursor, tag: cursor.text, body: body, link: link)
  }

  private init(_ cursor: Cursor, tag: String, body: Response.Body, link: String?) {
    self.cursor = cursor
    self.tag = tag
    self.body = body
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
