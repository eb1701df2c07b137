import LockstepJSON

/// Which pages of other origins may use this server from a browser (CORS, in the Fetch standard).
public struct CORSPolicy: Sendable {
  private let origins: [String]
  private let allowsAny: Bool

  /// Origins such as `https://app.example`; `*` means all. Without origins, CORS is off.
  public init(origins: [String]) {
    self.origins = origins
    allowsAny = origins.contains("*")
  }

  // Listed one by one, because `*` does not include `Authorization`, and has no effect on requests
  // with credentials.
  private static let allowedHeaders =
    "Authorization, Content-Type, Cursor, If-Match, If-None-Match, Prefer, Idempotency-Key, Last-Event-ID, "
    + "X-Request-Id"
  private static let exposedHeaders =
    "ETag, Cursor, Revision, Date, Link, Location, Preference-Applied, Idempotency-Replayed, Retry-After, RateLimit, "
    + "RateLimit-Policy, WWW-Authenticate, X-Request-Id"

  /// Whether any origin is allowed.
  public var isOn: Bool { !origins.isEmpty }

  /// The fields of every response, including problems, to a request with this `Origin`. If all
  /// origins are allowed, the fields do not depend on `Origin`, so there is no `Vary`.
  public func fields(forOrigin origin: String?) -> HeaderFields {
    var fields = HeaderFields()
    guard isOn else { return fields }
    if !allowsAny { fields.append(.vary, "Origin") }
    guard let origin = allowed(origin) else { return fields }
    fields.append(.accessControlAllowOrigin, origin)
    fields.append(.accessControlExposeHeaders, Self.exposedHeaders)
    return fields
  }

  /// Additional fields for a preflight from an allowed origin; nil for any other request.
  public func preflightFields(for head: RequestHead, allow: String) -> HeaderFields? {
    guard isOn, head.method == .options, allowed(head[.origin]) != nil, head.has(.accessControlRequestMethod) else {
      return nil
    }
    var fields = HeaderFields()
    fields.append(.accessControlAllowMethods, allow)
    fields.append(.accessControlAllowHeaders, Self.allowedHeaders)
    fields.append(.accessControlMaxAge, "7200")
    return fields
  }

  /// Whether pages of this origin may use the server.
  public func allows(_ origin: String) -> Bool { allowed(origin) != nil }

  private func allowed(_ origin: String?) -> String? {
    if allowsAny { return "*" }
    guard let origin else { return nil }
    return origins.containsBytes(of: origin) ? origin : nil
  }
}
