import LockstepHTTP
import LockstepJSON

// The header fields of responses.

extension RouteField {
  package static let etag = RouteField(
    "ETag",
    "Changes when the resource changes. The tag of a page also changes with the rest of its collection, but the old "
      + "tag still gets 304. The tag of a gzip response ends with `-gzip`. Either form is accepted as a tag or cursor.",
    schema: ["type": "string", "pattern": "^\"[^\"]*\"$"]
  )
  package static let cursor = RouteField("Cursor", "The cursor of the user's whole state.", schema: .cursorSchema)
  package static let revision = RouteField(
    "Revision",
    "How many transactions the user's state in this response includes. A copy of the state that was made between two "
      + "resets includes a write if the copy's revision is at least that of the write's response.",
    schema: .indexSchema
  )
  package static let cacheControl = RouteField("Cache-Control", "How the response may be cached.")
  package static let vary = RouteField("Vary", "The request's fields that the response depends on.")
  package static let preferenceApplied = RouteField(
    "Preference-Applied",
    "`wait=<seconds>`: the longest wait that applies, if the request asked for a wait."
  ).sometimes
  package static let idempotencyReplayed = RouteField(
    "Idempotency-Replayed",
    "`true` if this response repeats the first response to the same write.",
    schema: ["const": "true"]
  ).sometimes
  package static let link = RouteField("Link", "`<path>; rel=\"next\"`: the next page of a list.").sometimes
  package static let location = RouteField("Location", "The path of the new resource.", schema: .addressSchema)

  /// The fields of a response with a resource that supports preconditions.
  package static let validators = [etag, cacheControl, vary]

  /// Fields that the response of any route may have.
  fileprivate static let ofAnyResponse = [
    RouteField("X-Request-Id", "The request's id in the server's log. The client or the server chose it."),
    RouteField("RateLimit-Policy", "The rate limit of the token or the IP address, if there is one."),
    RouteField("RateLimit", "The requests left, and the seconds until all are available again."),
    RouteField("Access-Control-Allow-Origin", "The request's origin or `*`, if its pages may read the response."),
    RouteField("Access-Control-Expose-Headers", "The fields of the response that pages of an allowed origin may read."),
  ].map(\.sometimes)

  /// Fields that keep browsers from treating a body as a page or a script.
  fileprivate static let forBrowsers = [
    RouteField("X-Content-Type-Options", "Browsers do not guess another type.", schema: ["const": "nosniff"]),
    RouteField("Content-Security-Policy", "Browsers load nothing for the response and show it in no frame."),
    RouteField("Referrer-Policy", "Links in the response do not reveal its URL.", schema: ["const": "no-referrer"]),
  ]

  fileprivate static let contentEncoding = RouteField(
    "Content-Encoding",
    "`gzip` if the request accepts it and the body is long enough.",
    schema: ["const": "gzip"]
  ).sometimes
  fileprivate static let wwwAuthenticate = RouteField("WWW-Authenticate", "How to authenticate: Bearer.")
  fileprivate static let allow = RouteField("Allow", "The methods that the path supports.")
  fileprivate static let acceptEncoding = RouteField(
    "Accept-Encoding",
    "The codings that a request's body may have. Sent if the body had another coding.",
    schema: ["const": "identity"]
  ).sometimes
  fileprivate static let retryAfter = RouteField("Retry-After", "Seconds to wait before a retry.", schema: .indexSchema)
}

extension RouteResponse {
  /// All header fields that the response may have: its own, and those that any response may have.
  ///
  /// If a route needs no token, a response with a body always has `HeaderFields.forBrowsers`.
  func allFields(for access: RouteDescription.Access) -> [RouteField] {
    var all = fields
    if !all.contains(where: { $0.name == RouteField.vary.name }) {
      // A 304 always has `Vary`, because the body that it stands for may be compressed.
      all.append(status == .notModified ? .vary : .vary.sometimes)
    }
    if !content.isEmpty {
      let isOpen = access == .anybody || access == .anybodyOrUser
      all += [.contentEncoding] + RouteField.forBrowsers.map { isOpen ? $0 : $0.sometimes }
    }
    return all + RouteField.ofAnyResponse
  }
}

// MARK: Problems

extension ProblemKind {
  /// The header fields of a problem of one of these kinds. A field that some of the kinds do not
  /// have is optional.
  static func fields(ofAny kinds: [ProblemKind]) -> [RouteField] {
    let all = kinds.map(\.fields)
    var found: [RouteField] = []
    for field in all.joined() where !found.contains(where: { $0.name == field.name }) {
      let isOfAll = all.allSatisfy { $0.contains { $0.name == field.name && $0.isAlways } }
      found.append(isOfAll ? field : field.sometimes)
    }
    return found + RouteField.forBrowsers + [.contentEncoding, .vary.sometimes] + RouteField.ofAnyResponse
  }

  private var fields: [RouteField] {
    let common: [RouteField] = [.cacheControl, .cursor.sometimes, .revision.sometimes, .idempotencyReplayed]
    switch self {
    case .unauthorized: return [.cacheControl, .wwwAuthenticate]
    case .methodNotAllowed: return [.cacheControl, .allow]
    case .preconditionFailed: return common + [.etag.sometimes]
    case .notFound: return common + [.preferenceApplied]
    case .conflict: return common + [.retryAfter.sometimes]
    case .tooManyRequests, .overloaded: return [.cacheControl, .cursor.sometimes, .revision.sometimes, .retryAfter]
    case .unsupportedMediaType: return common + [.acceptEncoding]
    default: return common
    }
  }
}

// The parts that all descriptions of routes for a user's state share.

extension RouteDescription {
  /// Describes a read of a part of a user's state, which may be past, conditional or a long poll.
  package static func reading(
    _ name: String,
    part: String,
    parameters: [RouteParameter] = [],
    shows schema: JSON,
    fields: [RouteField] = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    let common = RouteField.validators + [.cursor, .revision, .preferenceApplied]
    return RouteDescription(
      name,
      part: part,
      access: .user,
      parameters: parameters + RouteParameter.reading,
      responses: [
        .shown(schema, fields: common + fields),
        RouteResponse(.notModified, "Not modified, even after the wait.", fields: common, sharedName: "Unchanged"),
      ],
      problems: [.invalidParameter, .unauthorized, .notFound, .tooManyRequests, .overloaded],
      schemas: schemas
    )
  }

  package static func writing(
    _ name: String,
    part: String,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    responses: [RouteResponse],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: part,
      access: .user,
      parameters: parameters + RouteParameter.writing,
      body: body,
      responses: responses,
      problems: problems.union(bodyProblems(body)).union([
        .invalidParameter, .unauthorized, .conflict, .preconditionFailed, .validationFailed, .quotaExceeded,
        .overloaded,
      ]),
      schemas: schemas
    )
  }

  package static func removing(_ name: String, part: String, parameters: [RouteParameter]) -> RouteDescription {
    var description = writing(name, part: part, parameters: parameters, responses: [.removed], problems: [.notFound])
    description.problems.remove(.quotaExceeded)
    return description
  }

  package static func bodyProblems(_ body: RouteBody?) -> Set<ProblemKind> {
    body == nil ? [] : [.malformedJSON, .payloadTooLarge, .unsupportedMediaType, .validationFailed]
  }
}

extension RouteResponse {
  /// A resource as a `GET` shows it.
  package static func shown(_ schema: JSON, fields: [RouteField]) -> RouteResponse {
    RouteResponse(.ok, "The resource.", fields: fields, json: schema)
  }

  package static func written(_ status: Status, _ summary: String, shows schema: JSON) -> RouteResponse {
    let fields = RouteField.validators + [.cursor, .revision, .idempotencyReplayed]
    return RouteResponse(status, summary, fields: fields, json: schema)
  }

  package static let removed = RouteResponse(
    .noContent,
    "Removed.",
    fields: [.cacheControl, .cursor, .revision, .idempotencyReplayed],
    sharedName: "Removed"
  )

  package static let done = RouteResponse(
    .noContent,
    "Done.",
    fields: [.cacheControl, .idempotencyReplayed],
    sharedName: "Done"
  )

  package static let results = RouteResponse(
    .ok,
    "The mutations of each action.",
    fields: [.etag, .cacheControl, .cursor, .revision, .idempotencyReplayed],
    json: .reference(SharedSchema.results.0)
  )

  package static let unmodified = RouteResponse(
    .notModified,
    "Not modified.",
    fields: RouteField.validators + [.cursor.sometimes, .revision.sometimes],
    sharedName: "Unmodified"
  )
}
