/// The name of a header field that this server reads or writes. Every name is a literal, so it
/// needs no allocation and never comes from a client. Comparisons ignore case.
public struct FieldName: Sendable, ExpressibleByStringLiteral {
  let literal: StaticString
  /// The length of the name.
  let count: Int

  /// A name as the server sends it, for example `"Retry-After"`.
  public init(stringLiteral literal: StaticString) {
    self.literal = literal
    count = literal.utf8CodeUnitCount
  }

  package var text: String { literal.description }

  /// Whether the server itself writes this field, so that handlers cannot add it.
  var isFraming: Bool {
    let name = UnsafeRawBufferPointer(literal.bytes)
    return switch name.count {
    case 4: FieldName.date.matches(name)
    case 10: FieldName.connection.matches(name)
    case 14: FieldName.contentLength.matches(name)
    case 17: FieldName.transferEncoding.matches(name)
    default: false
    }
  }

  func matches(_ name: UnsafeRawBufferPointer) -> Bool { name.equalsIgnoringCase(literal) }

  // Fields that only the server writes (RFC 9110 and 9112).
  package static let connection: FieldName = "Connection"
  package static let contentLength: FieldName = "Content-Length"
  package static let date: FieldName = "Date"
  package static let transferEncoding: FieldName = "Transfer-Encoding"

  // HTTP (RFC 9110), caching (RFC 9111), links (RFC 8288) and preferences (RFC 7240).
  package static let accept: FieldName = "Accept"
  package static let acceptEncoding: FieldName = "Accept-Encoding"
  package static let acceptLanguage: FieldName = "Accept-Language"
  package static let allow: FieldName = "Allow"
  package static let authorization: FieldName = "Authorization"
  package static let cacheControl: FieldName = "Cache-Control"
  package static let contentEncoding: FieldName = "Content-Encoding"
  package static let contentType: FieldName = "Content-Type"
  package static let etag: FieldName = "ETag"
  package static let expect: FieldName = "Expect"
  package static let host: FieldName = "Host"
  package static let ifMatch: FieldName = "If-Match"
  package static let ifNoneMatch: FieldName = "If-None-Match"
  package static let link: FieldName = "Link"
  package static let location: FieldName = "Location"
  package static let prefer: FieldName = "Prefer"
  package static let preferenceApplied: FieldName = "Preference-Applied"
  package static let retryAfter: FieldName = "Retry-After"
  package static let userAgent: FieldName = "User-Agent"
  package static let vary: FieldName = "Vary"
  package static let wwwAuthenticate: FieldName = "WWW-Authenticate"

  // Browsers: the Fetch standard, Fetch Metadata, server-sent events, Content Security Policy, cross-origin
  // policies, Referrer Policy.
  package static let accessControlAllowHeaders: FieldName = "Access-Control-Allow-Headers"
  package static let accessControlAllowMethods: FieldName = "Access-Control-Allow-Methods"
  package static let accessControlAllowOrigin: FieldName = "Access-Control-Allow-Origin"
  package static let accessControlExposeHeaders: FieldName = "Access-Control-Expose-Headers"
  package static let accessControlMaxAge: FieldName = "Access-Control-Max-Age"
  package static let accessControlRequestMethod: FieldName = "Access-Control-Request-Method"
  package static let contentSecurityPolicy: FieldName = "Content-Security-Policy"
  package static let crossOriginOpenerPolicy: FieldName = "Cross-Origin-Opener-Policy"
  package static let crossOriginResourcePolicy: FieldName = "Cross-Origin-Resource-Policy"
  package static let lastEventID: FieldName = "Last-Event-ID"
  package static let origin: FieldName = "Origin"
  package static let referrerPolicy: FieldName = "Referrer-Policy"
  package static let secFetchSite: FieldName = "Sec-Fetch-Site"
  package static let xContentTypeOptions: FieldName = "X-Content-Type-Options"

  // Drafts of the IETF, and names that proxies and servers agree on without a standard.
  package static let idempotencyKey: FieldName = "Idempotency-Key"
  package static let rateLimit: FieldName = "RateLimit"
  package static let rateLimitPolicy: FieldName = "RateLimit-Policy"
  package static let xForwardedFor: FieldName = "X-Forwarded-For"
  package static let xRequestID: FieldName = "X-Request-Id"

  // Lockstep's own fields: the cursor and the revision of the whole state, the mark of a stored
  // response that is sent again, and the two fields of a request that a node forwards.
  package static let cursor: FieldName = "Cursor"
  package static let revision: FieldName = "Revision"
  package static let lockstepClient: FieldName = "Lockstep-Client"
  package static let lockstepNode: FieldName = "Lockstep-Node"
  package static let idempotencyReplayed: FieldName = "Idempotency-Replayed"
}
