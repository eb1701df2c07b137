import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// The OpenAPI descriptions of the routes in `AccountsRoutes`.
enum AccountsDescriptions {
  static var sessions: RouteDescription {
    reading("listSessions", shows: .schema(["items": .arraySchema(of: .reference("Session"))]), schemas: session)
  }

  static var oneSession: RouteDescription {
    reading(
      "getSession",
      parameters: [sessionID],
      shows: .reference("Session"),
      problems: [.notFound],
      schemas: session
    )
  }

  static var me: RouteDescription { reading("getMe", shows: .reference("User"), schemas: user) }

  static var revoke: RouteDescription { writing("logOut", parameters: [sessionID], problems: [.notFound]) }

  static func changePassword(_ rules: PasswordRules) -> RouteDescription {
    writing(
      "changePassword",
      body: .closedSchema(["current": .passwordSchema, "new": .newPasswordSchema(rules)]),
      problems: [.tooManyRequests]
    )
  }

  static var erase: RouteDescription {
    writing("eraseMe", body: .closedSchema(["password": .passwordSchema]), problems: [.tooManyRequests])
  }

  /// The description of the export on a server with these modules of its own.
  static func export(own: [UserModule]) -> RouteDescription {
    let modules = own.map { SchemaMember(name: $0.name, schema: contents(of: $0), isRequired: false) }
    let passwordAge = JSON.schema(["passwordChangedAt": .timeSchema])
    let session = JSON.schema(
      [
        "id": .uuidSchema, "device": .nullableTextSchema, "createdAt": .timeSchema, "lastSeenAt": .timeSchema,
        "expiresAt": .timeSchema,
      ],
      optional: ["cursor": .cursorSchema]
    )
    var members = [
      SchemaMember(name: "user", schema: ["allOf": [.reference("User"), passwordAge]]),
      SchemaMember(name: "sessions", schema: .arraySchema(of: session)),
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "favorites", schema: .arraySchema(of: .reference("favorites.element"))),
      SchemaMember(name: "defaults", schema: ["type": "object", "additionalProperties": .valuesSchema]),
      SchemaMember(name: "profile", schema: .reference("profile")),
    ]
    if !own.isEmpty { members.append(SchemaMember(name: "modules", schema: .schema(ofObject: modules))) }
    let key = JSON.schema(["key": .textSchema, "at": .timeSchema])
    members += [
      SchemaMember(name: "journal", schema: .arraySchema(of: .reference("JournalEntry"))),
      SchemaMember(name: "snapshots", schema: .arraySchema(of: snapshot)),
      SchemaMember(name: "idempotencyKeys", schema: .arraySchema(of: key)),
    ]
    return reading(
      "export",
      shows: .schema(ofObject: members),
      fields: [.cursor],
      schemas: .shared(("User", User.format.schema), JournalRoute.entrySchema, SharedSchema.mutation)
    )
  }

  // MARK: Shared parts

  private static let user = ["User": User.format.schema]
  private static let session = ["Session": Session.format.schema]
  private static let sessionID = RouteParameter(
    "id",
    in: .path,
    "The session's id, or `current`.",
    schema: ["anyOf": [.uuidSchema, ["const": "current"]]]
  )

  private static func contents(of module: UserModule) -> JSON {
    let element = DescribedModule(module: module).element
    return module.kind == .list ? .arraySchema(of: element) : ["type": "object", "additionalProperties": element]
  }

  private static let snapshot = JSON.schema(
    ["collection": .textSchema, "cursor": .cursorSchema],
    optional: ["items": ["type": "array"], "values": .valuesSchema]
  )

  private static func reading(
    _ name: String,
    parameters: [RouteParameter] = [],
    shows schema: JSON,
    fields: [RouteField] = [],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Accounts",
      access: .user,
      parameters: parameters + [.ifNoneMatch],
      answers: [.shown(schema, fields: RouteField.validators + fields), .unmodified],
      problems: problems.union([.invalidParameter, .unauthorized, .overloaded]),
      schemas: schemas
    )
  }

  private static func writing(
    _ name: String,
    parameters: [RouteParameter] = [],
    body: JSON? = nil,
    problems: Set<ProblemKind>
  ) -> RouteDescription {
    var description = RouteDescription.writing(
      name,
      part: "Accounts",
      parameters: parameters,
      body: body.map { RouteBody($0) },
      answers: [.done],
      problems: problems
    )
    // An account has no quota.
    description.problems.remove(.quotaExceeded)
    return description
  }
}
