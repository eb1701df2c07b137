/// The name of a header field that this server reads or writes.
///
/// Made from literals only, so a name costs no allocation and can't carry what came from outside.
/// The letters' case is kept for writing and ignored for comparing.
public struct FieldName: Sendable, ExpressibleByStringLiteral {
  let literal: StaticString

  /// A name as it is to be written, for example `"Retry-After"`.
  public init(stringLiteral literal: StaticString) {
    self.literal = literal
  }

  /// The name as it is written.
  public var text: String { literal.description }

  /// Whether only the engine writes it: `Content-Length`, `Transfer-Encoding`, `Connection`, `Date`.
  var isEngines: Bool {
    let name = UnsafeRawBufferPointer(literal.bytes)
    return switch name.count {
    case 4: FieldName.date.matches(name)
    case 10: FieldName.connection.matches(name)
    case 14: FieldName.contentLength.matches(name)
    case 17: FieldName.transferEncoding.matches(name)
    default: false
    }
  }

  func matches(_ name: UnsafeRawBufferPointer) -> Bool {
    name.equalsIgnoringCase(literal)
  }
}

extension FieldName {
  /// Which types of body the client takes (RFC 9110, 12.5.1); `text/event-stream` asks for a stream.
  public static let accept: FieldName = "Accept"
  /// Which codings of a body the client takes (RFC 9110, 12.5.3).
  public static let acceptEncoding: FieldName = "Accept-Encoding"
  /// Which fields a page may send; answers a preflight (Fetch, CORS protocol).
  public static let accessControlAllowHeaders: FieldName = "Access-Control-Allow-Headers"
  /// Which methods a page may use; answers a preflight (Fetch, CORS protocol).
  public static let accessControlAllowMethods: FieldName = "Access-Control-Allow-Methods"
  /// Which origin may read the answer (Fetch, CORS protocol).
  public static let accessControlAllowOrigin: FieldName = "Access-Control-Allow-Origin"
  /// Which fields of the answer a page may read (Fetch, CORS protocol).
  public static let accessControlExposeHeaders: FieldName = "Access-Control-Expose-Headers"
  /// For how many seconds a browser may remember a preflight (Fetch, CORS protocol).
  public static let accessControlMaxAge: FieldName = "Access-Control-Max-Age"
  /// Which fields a page wants to send; part of a preflight (Fetch, CORS protocol).
  public static let accessControlRequestHeaders: FieldName = "Access-Control-Request-Headers"
  /// Which method a page wants to use; makes `OPTIONS` a preflight (Fetch, CORS protocol).
  public static let accessControlRequestMethod: FieldName = "Access-Control-Request-Method"
  /// The methods that a resource has (RFC 9110, 10.2.1); 405 and `OPTIONS` carry it.
  public static let allow: FieldName = "Allow"
  /// The client's token (RFC 9110, 11.6.2). Never logged.
  public static let authorization: FieldName = "Authorization"
  /// Who may keep an answer, and whether they must ask again (RFC 9111, 5.2).
  public static let cacheControl: FieldName = "Cache-Control"
  /// Whether the connection is kept (RFC 9110, 7.6.1). Written by the engine alone.
  public static let connection: FieldName = "Connection"
  /// The coding of the body, such as `gzip` (RFC 9110, 8.4).
  public static let contentEncoding: FieldName = "Content-Encoding"
  /// The length of the body (RFC 9110, 8.6). Written by the engine alone.
  public static let contentLength: FieldName = "Content-Length"
  /// The type of the body (RFC 9110, 8.3).
  public static let contentType: FieldName = "Content-Type"
  /// What a page may load, and who may show it (Content Security Policy).
  public static let contentSecurityPolicy: FieldName = "Content-Security-Policy"
  /// When the answer was made (RFC 9110, 6.6.1). Written by the engine alone.
  public static let date: FieldName = "Date"
  /// How far a user's whole state has come; an answer about it carries it.
  public static let cursor: FieldName = "Cursor"
  /// What tells one representation of a resource from another (RFC 9110, 8.8.3).
  public static let etag: FieldName = "ETag"
  /// What the client waits for before it sends the body (RFC 9110, 10.1.1): `100-continue` or nothing.
  public static let expect: FieldName = "Expect"
  /// Which host the client means (RFC 9110, 7.2). HTTP/1.1 requires it.
  public static let host: FieldName = "Host"
  /// What makes a repeated write the same write.
  public static let idempotencyKey: FieldName = "Idempotency-Key"
  /// Says that the answer is that to an earlier request with the same key.
  public static let idempotencyReplayed: FieldName = "Idempotency-Replayed"
  /// Only if the resource is still as it was (RFC 9110, 13.1.1).
  public static let ifMatch: FieldName = "If-Match"
  /// Only if the resource is no longer as it was (RFC 9110, 13.1.2).
  public static let ifNoneMatch: FieldName = "If-None-Match"
  /// The id of the last event that a client of a stream has had.
  public static let lastEventID: FieldName = "Last-Event-ID"
  /// Where related resources are, such as the next page (RFC 8288).
  public static let link: FieldName = "Link"
  /// Where what was made can be found (RFC 9110, 10.2.2).
  public static let location: FieldName = "Location"
  /// Which origin a page that asks is from (RFC 6454, 7).
  public static let origin: FieldName = "Origin"
  /// How the client would like to be served (RFC 7240); `wait` asks to be held until something changes.
  public static let prefer: FieldName = "Prefer"
  /// Which of its preferences the client was served by (RFC 7240, 3).
  public static let preferenceApplied: FieldName = "Preference-Applied"
  /// How much is left of a limit (draft-ietf-httpapi-ratelimit-headers).
  public static let rateLimit: FieldName = "RateLimit"
  /// What the limit is (draft-ietf-httpapi-ratelimit-headers).
  public static let rateLimitPolicy: FieldName = "RateLimit-Policy"
  /// What a link in a page tells of the page (Referrer Policy).
  public static let referrerPolicy: FieldName = "Referrer-Policy"
  /// After how many seconds to try again (RFC 9110, 10.2.3); 429 and 503 carry it.
  public static let retryAfter: FieldName = "Retry-After"
  /// How the body is cut for its way (RFC 9112, 6.1). Written by the engine alone.
  public static let transferEncoding: FieldName = "Transfer-Encoding"
  /// Whether a browser may take a body for another type than its own (the Fetch standard): `nosniff`.
  public static let xContentTypeOptions: FieldName = "X-Content-Type-Options"
  /// Whom a proxy was asked by, and those before it (de facto; nginx, HAProxy and Caddy write it).
  public static let xForwardedFor: FieldName = "X-Forwarded-For"
  /// By what the request is found again in logs (de facto).
  public static let xRequestID: FieldName = "X-Request-Id"
  /// How to say who one is (RFC 9110, 11.6.1); 401 carries it.
  public static let wwwAuthenticate: FieldName = "WWW-Authenticate"
  /// Which fields of the request the answer depends on (RFC 9110, 12.5.5).
  public static let vary: FieldName = "Vary"
}
