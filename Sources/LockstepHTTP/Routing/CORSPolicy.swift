/// Which pages of other origins may use this server from a browser, and what they're told (the Fetch standard's CORS).
///
/// Field names are listed one by one: `*` means nothing once a request carries credentials.
public struct CORSPolicy: Sendable {
  private let origins: [String]
  private let allowsAny: Bool

  /// A policy for these origins, such as `https://app.example`; `*` stands for every one. None: CORS is off.
  public init(origins: [String]) {
    self.origins = origins
    allowsAny = origins.contains("*")
  }

  private static let allowedHeaders =
    "Authorization, Content-Type, If-Match, If-None-Match, Prefer, Idempotency-Key, Last-Event-ID, X-Request-Id"
  private static let exposedHeaders =
    "ETag, Cursor, Link, Location, Preference-Applied, Idempotency-Replayed, Retry-After, RateLimit, RateLimit-Policy, "
    + "WWW-Authenticate, X-Request-Id"

  /// Whether any origin is allowed.
  public var isOn: Bool { !origins.isEmpty }

  /// What every answer to a request gets, errors included: who may read it, and what of it.
  public func fields(for head: RequestHead) -> HeaderFields { fields(forOrigin: head[.origin]) }

  /// The same for the origin that a request says it's from. Where every origin is allowed the answer doesn't depend on it,
  /// so that it needn't vary by it.
  public func fields(forOrigin origin: String?) -> HeaderFields {
    var fields = HeaderFields()
    guard isOn else { return fields }
    if !allowsAny { fields.append(.vary, "Origin") }
    guard let origin = allowed(origin) else { return fields }
    fields.append(.accessControlAllowOrigin, origin)
    fields.append(.accessControlExposeHeaders, Self.exposedHeaders)
    return fields
  }

  /// What the answer to a preflight gets besides, or nil when the request isn't one from an allowed origin.
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
    return origins.contains(origin) ? origin : nil
  }
}
