import LockstepHTTP
import LockstepJSON

// The two kinds of routes that most are: what is said of all of them is said here.

extension RouteDescription {
  /// A read of a part of the user's state: conditional, held until it changes, or of the past.
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
        RouteAnswer(.ok, "What there is.", fields: common + fields, json: schema),
        RouteAnswer(
          .notModified,
          "The client has it already, or the wait is over.",
          fields: common,
          sharedName: "Unchanged"
        ),
      ],
      problems: [.invalidParameter, .unauthorized, .notFound, .tooManyRequests, .overloaded],
      schemas: schemas
    )
  }

  /// A write to a part of the user's state, which is on disk once it's answered.
  static func writing(
    _ name: String,
    part: String,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    answers: [RouteAnswer],
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
    // Nothing is added by it.
    description.problems.remove(.quotaExceeded)
    return description
  }

  /// The problems that a body may have.
  static func bodyProblems(_ body: RouteBody?) -> Set<ProblemKind> {
    body == nil ? [] : [.malformedJSON, .payloadTooLarge, .unsupportedMediaType, .validationFailed]
  }
}

extension RouteAnswer {
  /// A write that shows what is there now.
  static func written(_ status: Status, _ summary: String, shows schema: JSON) -> RouteAnswer {
    let fields = RouteField.validators + [.cursor, .idempotencyReplayed]
    return RouteAnswer(status, summary, fields: fields, json: schema)
  }

  /// What is gone has nothing to show.
  static let removed = RouteAnswer(
    .noContent,
    "It's gone.",
    fields: [.cacheControl, .cursor, .idempotencyReplayed],
    sharedName: "Removed"
  )

  /// It's done, and there is nothing to say.
  static let done = RouteAnswer(
    .noContent,
    "It's done.",
    fields: [.cacheControl, .idempotencyReplayed],
    sharedName: "Done"
  )

  /// What several actions did.
  static let results = RouteAnswer(
    .ok,
    "What each of them did.",
    fields: [.etag, .cacheControl, .cursor, .idempotencyReplayed],
    json: .reference("Results")
  )

  /// The client has it already.
  static let unmodified = RouteAnswer(
    .notModified,
    "The client has it already.",
    fields: RouteField.validators + [.cursor.sometimes],
    sharedName: "Unmodified"
  )
}
