import LockstepHTTP
import LockstepJSON

// The parts that all descriptions of routes for a user's state share.

extension RouteDescription {
  /// A read of a part of the user's state, present or past, conditional or as a long poll.
  static func reading(
    _ name: String,
    part: String,
    parameters: [RouteParameter] = [],
    shows schema: JSON,
    fields: [RouteField] = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    let common = RouteField.validators + [.cursor, .preferenceApplied]
    return RouteDescription(
      name,
      part: part,
      access: .user,
      parameters: parameters + RouteParameter.reading,
      answers: [
        .shown(schema, fields: common + fields),
        RouteResponse(.notModified, "Not modified, or the wait is over.", fields: common, sharedName: "Unchanged"),
      ],
      problems: [.invalidParameter, .unauthorized, .notFound, .tooManyRequests, .overloaded],
      schemas: schemas
    )
  }

  /// A write to a part of the user's state.
  static func writing(
    _ name: String,
    part: String,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    answers: [RouteResponse],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: part,
      access: .user,
      parameters: parameters + RouteParameter.writing,
      body: body,
      answers: answers,
      problems: problems.union(bodyProblems(body)).union([
        .invalidParameter, .unauthorized, .conflict, .preconditionFailed, .validationFailed, .quotaExceeded,
        .overloaded,
      ]),
      schemas: schemas
    )
  }

  /// A removal of a part of the user's state.
  static func removing(_ name: String, part: String, parameters: [RouteParameter]) -> RouteDescription {
    var description = writing(name, part: part, parameters: parameters, answers: [.removed], problems: [.notFound])
    description.problems.remove(.quotaExceeded)
    return description
  }

  static func bodyProblems(_ body: RouteBody?) -> Set<ProblemKind> {
    body == nil ? [] : [.malformedJSON, .payloadTooLarge, .unsupportedMediaType, .validationFailed]
  }
}

extension RouteResponse {
  /// A resource as a `GET` shows it.
  static func shown(_ schema: JSON, fields: [RouteField]) -> RouteResponse {
    RouteResponse(.ok, "The resource.", fields: fields, json: schema)
  }

  /// A write that shows the new resource.
  static func written(_ status: Status, _ summary: String, shows schema: JSON) -> RouteResponse {
    let fields = RouteField.validators + [.cursor, .idempotencyReplayed]
    return RouteResponse(status, summary, fields: fields, json: schema)
  }

  static let removed = RouteResponse(
    .noContent,
    "Removed.",
    fields: [.cacheControl, .cursor, .idempotencyReplayed],
    sharedName: "Removed"
  )

  static let done = RouteResponse(
    .noContent,
    "Done.",
    fields: [.cacheControl, .idempotencyReplayed],
    sharedName: "Done"
  )

  static let results = RouteResponse(
    .ok,
    "The mutations of each action.",
    fields: [.etag, .cacheControl, .cursor, .idempotencyReplayed],
    json: .reference("Results")
  )

  static let unmodified = RouteResponse(
    .notModified,
    "Not modified.",
    fields: RouteField.validators + [.cursor.sometimes],
    sharedName: "Unmodified"
  )
}
