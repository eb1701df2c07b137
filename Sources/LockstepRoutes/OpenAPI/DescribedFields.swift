import LockstepHTTP

// The header fields of answers: each is described once, and every answer refers to those that it may have.

extension RouteField {
  static let etag = RouteField(
    "ETag",
    "Changes when the resource changes, and only then. The tag of a gzip response ends with `-gzip`. Clients can send "
      + "either form wherever a tag or a cursor is taken.",
    schema: ["type": "string", "pattern": "^\"[^\"]*\"$"]
  )

  static let cursor = RouteField(
    "Cursor",
    "How far the user's whole state has come.",
    schema: .cursorSchema
  )

  static let cacheControl = RouteField("Cache-Control", "Who may keep the answer, and whether it must ask before use.")

  static let vary = RouteField("Vary", "The fields of the request on which the answer depends.")

  static let preferenceApplied = RouteField(
    "Preference-Applied",
    "`wait=<seconds>`: how long the answer was held at most, where the request asked for that.",
    isAlways: false
  )

  static let idempotencyReplayed = RouteField(
    "Idempotency-Replayed",
    "`true` where this is the first answer to the same write again.",
    schema: ["const": "true"],
    isAlways: false
  )

  static let link = RouteField(
    "Link",
    "`<address>; rel=\"next\"`: the next page, of a list that has one.",
    isAlways: false
  )

  static let location = RouteField("Location", "Where it is.", schema: ["type": "string", "format": "uri-reference"])

  /// What comes with each resource that can be asked for on a condition.
  static let validators = [etag, cacheControl, vary]
}

// MARK: What any answer may have

extension RouteField {
  /// What the answer of any route may have.
  fileprivate static let ofAnyAnswer = [requestID, rateLimitPolicy, rateLimit, allowOrigin, exposeHeaders]

  private static let requestID = RouteField(
    "X-Request-Id",
    "By what the request is found again in the server's log: the request's own, or the server's, where there is one.",
    isAlways: false
  )

  private static let rateLimitPolicy = RouteField(
    "RateLimit-Policy",
    "How often a token or an address may ask, where that is limited.",
    isAlways: false
  )

  private static let rateLimit = RouteField(
    "RateLimit",
    "How much of that is left, and in how many seconds all of it is.",
    isAlways: false
  )

  private static let allowOrigin = RouteField(
    "Access-Control-Allow-Origin",
    "Which origin's pages may read the answer, where it's one that the operator allows (CORS).",
    isAlways: false
  )

  private static let exposeHeaders = RouteField(
    "Access-Control-Expose-Headers",
    "Which fields of the answer they may read.",
    isAlways: false
  )

  /// What keeps a browser from making more of a body than it is.
  fileprivate static let forBrowsers = [
    RouteField("X-Content-Type-Options", "A browser takes it for no other type.", schema: ["const": "nosniff"]),
    RouteField("Content-Security-Policy", "A browser loads nothing for it, and shows it in no frame."),
    RouteField("Referrer-Policy", "A link in it tells nobody where it was found.", schema: ["const": "no-referrer"]),
  ]

  fileprivate static let contentEncoding = RouteField(
    "Content-Encoding",
    "`gzip`, where the request takes it and the body is worth it.",
    schema: ["const": "gzip"],
    isAlways: false
  )
}

extension RouteAnswer {
  /// All fields that it may have: its own, and those that are added to any.
  ///
  /// What `HeaderFields.forBrowsers` says of who gets those is said here: they are for bodies, and what only a token opens can do
  /// without.
  func allFields(for access: RouteDescription.Access) -> [RouteField] {
    var all = fields
    if !all.contains(where: { $0.name == RouteField.vary.name }) {
      // Whether there was something to be coded isn't known of what the client has already.
      all.append(status == .notModified ? .vary : .vary.sometimes)
    }
    if !content.isEmpty {
      let isOpen = access == .anybody || access == .anybodyOrUser
      all += [.contentEncoding] + RouteField.forBrowsers.map { isOpen ? $0 : $0.sometimes }
    }
    return all + RouteField.ofAnyAnswer
  }
}

// MARK: Problems

extension ProblemKind {
  /// The header fields of an answer that is a problem of one of these kinds: one that not all of them have is there where it's known.
  static func fields(ofAny kinds: [ProblemKind]) -> [RouteField] {
    let all = kinds.map(\.fields)
    var found: [RouteField] = []
    for field in all.joined() where !found.contains(where: { $0.name == field.name }) {
      let isOfAll = all.allSatisfy { $0.contains { $0.name == field.name && $0.isAlways } }
      found.append(isOfAll ? field : field.sometimes)
    }
    return found + RouteField.forBrowsers + [.contentEncoding, .vary.sometimes] + RouteField.ofAnyAnswer
  }

  /// Those of this kind's own.
  private var fields: [RouteField] {
    let common: [RouteField] = [.cacheControl, .cursor.sometimes, .idempotencyReplayed]
    switch self {
    case .unauthorized: return [.cacheControl, .wwwAuthenticate]
    case .methodNotAllowed: return [.cacheControl, .allow]
    case .preconditionFailed: return common + [.etag.sometimes]
    case .conflict: return common + [.retryAfter.sometimes]
    case .tooManyRequests, .overloaded: return [.cacheControl, .cursor.sometimes, .retryAfter]
    case .unsupportedMediaType: return common + [.acceptEncoding]
    default: return common
    }
  }
}

extension RouteField {
  fileprivate static let wwwAuthenticate = RouteField("WWW-Authenticate", "How to authenticate: Bearer.")
  fileprivate static let allow = RouteField("Allow", "The methods that the path has.")
  fileprivate static let acceptEncoding = RouteField(
    "Accept-Encoding",
    "Which codings of a body are taken, where it came in another.",
    schema: ["const": "identity"],
    isAlways: false
  )
  fileprivate static let retryAfter = RouteField(
    "Retry-After",
    "After how many seconds to try again.",
    schema: ["type": "integer", "minimum": 0]
  )
}
