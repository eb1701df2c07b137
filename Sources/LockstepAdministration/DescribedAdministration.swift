import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore

// The descriptions of the routes of users for administrators.

extension AdminUserRoutes {
  static let schemas = ["ManagedUser": Item.format.schema]

  static var listing: RouteDescription {
    .administration(
      "listUsers",
      parameters: [
        RouteParameter(
          "prefix",
          in: .query,
          "Only users whose e-mail addresses begin with this text, in any case, in the order of their addresses. "
            + "Without it, users are in the order of their sign-ups.",
          schema: .textSchema
        ),
        RouteParameter("after", in: .query, "Starts after the user with this id.", schema: .uuidSchema),
        RouteParameter(
          "limit",
          in: .query,
          "The most users in a page. If there are more, the response field Link refers to the next page.",
          schema: ["type": "integer", "minimum": 1, "maximum": JSON(mostUsers), "default": 100]
        ),
        .ifMatchOfRead, .ifNoneMatch,
      ],
      responses: [
        .shown(
          .schema(["items": .arraySchema(of: .reference("ManagedUser"))]),
          fields: RouteField.validators + [.link]
        ),
        .unmodified,
      ],
      schemas: schemas
    )
  }

  static var showing: RouteDescription {
    .administration(
      "getUser",
      parameters: [.user, .ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(.reference("ManagedUser"), fields: RouteField.validators), .unmodified],
      problems: [.notFound],
      schemas: schemas
    )
  }

  static func adding(_ password: JSON) -> RouteDescription {
    .administration(
      "addUser",
      parameters: [.idempotencyKey],
      body: RouteBody(.closedSchema(["email": .emailSchema, "password": password])),
      responses: [
        RouteResponse(
          .created,
          "The new user.",
          fields: [.etag, .cacheControl, .location, .idempotencyReplayed],
          json: .reference("ManagedUser")
        )
      ],
      problems: [.conflict],
      schemas: schemas
    )
  }

  static func changing(_ password: JSON) -> RouteDescription {
    let members: [(String, JSON)] = [
      ("disabled", ["type": "boolean"]), ("email", .emailSchema), ("password", password),
    ]
    return .administration(
      "changeUser",
      parameters: [.user] + RouteParameter.writing,
      body: RouteBody(.closedSchema(of: members.map { SchemaMember(name: $0.0, schema: $0.1, isRequired: false) })),
      responses: [
        RouteResponse(
          .ok,
          "The changed user. All sessions end with a new password, or if the user is disabled.",
          fields: [.etag, .cacheControl, .idempotencyReplayed],
          json: .reference("ManagedUser")
        )
      ],
      problems: [.notFound, .conflict, .preconditionFailed],
      schemas: schemas
    )
  }

  static var erasing: RouteDescription {
    .administration(
      "eraseUser",
      parameters: [.user] + RouteParameter.writing,
      responses: [.done],
      problems: [.notFound, .conflict, .preconditionFailed]
    )
  }
}

extension RouteDescription {
  /// Describes a route of the administration.
  static func administration(
    _ name: String,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    responses: [RouteResponse],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Administration",
      access: .administrator,
      parameters: parameters,
      body: body,
      responses: responses,
      problems: problems.union(bodyProblems(body)).union([
        .invalidParameter, .unauthorized, .forbidden, .notFound, .tooManyRequests, .overloaded,
      ]),
      schemas: schemas
    )
  }
}
