import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// What is said of the routes in `AccountsRoutes`.
enum AccountsDescriptions {
  static var sessions: RouteDescription {
    reading(
      "listSessions",
      shows: .schema(ofObject: [SchemaMember(name: "items", schema: .arraySchema(of: .reference("Session")))]),
      schemas: ["Session": shownSession]
    )
  }

  static var session: RouteDescription {
    reading(
      "getSession",
      parameters: [sessionID],
      shows: .reference("Session"),
      problems: [.notFound],
      schemas: ["Session": shownSession]
    )
  }

  static var me: RouteDescription { reading("getMe", shows: .reference("User"), schemas: ["User": User.schema]) }

  static var revoke: RouteDescription {
    writing("logOut", parameters: [sessionID], problems: [.notFound])
  }

  private static let sessionID = RouteParameter(
    "id",
    in: .path,
    "The session's id, or `current`.",
    schema: ["anyOf": [.uuidSchema, ["const": "current"]]]
  )

  private static var shownSession: JSON {
    sessionSchema([
      SchemaMember(name: "cursor", schema: .cursorSchema, isRequired: false),
      SchemaMember(name: "current", schema: ["type": "boolean"]),
    ])
  }

  /// What is said of the change to a password that keeps these rules.
  static func changePassword(_ rules: PasswordRules) -> RouteDescription {
    let body = [
      SchemaMember(name: "current", schema: .passwordSchema),
      SchemaMember(name: "new", schema: .newPasswordSchema(rules)),
    ]
    return writing("changePassword", body: body, problems: [.forbidden, .tooManyRequests])
  }

  static var erase: RouteDescription {
    writing(
      "eraseMe",
      body: [SchemaMember(name: "password", schema: .passwordSchema)],
      problems: [.forbidden, .tooManyRequests]
    )
  }

  /// What is said of the export of a server that was built with these modules.
  static func export(own: [UserModule]) -> RouteDescription {
    let described = own.map { DescribedModule(module: $0) }
    let modules = described.map { module in
      SchemaMember(name: module.module.name, schema: contents(of: module), isRequired: false)
    }
    let favorites = JSON.arraySchema(of: .reference("favorites.element"))
    let session = sessionSchema([
      SchemaMember(name: "expiresAt", schema: .timeSchema),
      SchemaMember(name: "cursor", schema: .cursorSchema, isRequired: false),
    ])
    let key = JSON.schema(ofObject: [
      SchemaMember(name: "key", schema: .textSchema), SchemaMember(name: "at", schema: .timeSchema),
    ])
    var members = [
      SchemaMember(name: "user", schema: ["allOf": [.reference("User"), Self.passwordAge]]),
      SchemaMember(name: "sessions", schema: .arraySchema(of: session)),
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "favorites", schema: favorites),
      SchemaMember(name: "defaults", schema: ["type": "object", "additionalProperties": .valuesSchema]),
      SchemaMember(name: "profile", schema: .reference("profile")),
    ]
    if !own.isEmpty { members.append(SchemaMember(name: "modules", schema: .schema(ofObject: modules))) }
    members += [
      SchemaMember(name: "journal", schema: .arraySchema(of: .reference("JournalEntry"))),
      SchemaMember(name: "snapshots", schema: .arraySchema(of: snapshot)),
      SchemaMember(name: "idempotencyKeys", schema: .arraySchema(of: key)),
    ]
    return reading(
      "export",
      shows: .schema(ofObject: members),
      fields: [.cursor],
      schemas: .shared(("User", User.schema), JournalRoute.entrySchema, SharedSchema.fact)
    )
  }

  // MARK: What they have in common

  private static func sessionSchema(_ more: [SchemaMember]) -> JSON {
    .schema(
      ofObject: [
        SchemaMember(name: "id", schema: .uuidSchema),
        SchemaMember(name: "device", schema: ["type": ["string", "null"]]),
        SchemaMember(name: "createdAt", schema: .timeSchema),
        SchemaMember(name: "lastSeenAt", schema: .timeSchema),
      ] + more
    )
  }

  /// What the export tells of a user besides.
  private static let passwordAge = JSON.schema(ofObject: [SchemaMember(name: "passwordChangedAt", schema: .timeSchema)])

  /// All of a module, as the export has it.
  private static func contents(of described: DescribedModule) -> JSON {
    switch described.module.kind {
    case .list: .arraySchema(of: described.element)
    case .map: ["type": "object", "additionalProperties": described.element]
    }
  }

  /// A collection as it was.
  private static var snapshot: JSON {
    .schema(ofObject: [
      SchemaMember(name: "collection", schema: .textSchema),
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "items", schema: ["type": "array"], isRequired: false),
      SchemaMember(name: "values", schema: .valuesSchema, isRequired: false),
    ])
  }

  private static func reading(
    _ name: String,
    parameters: [RouteParameter] = [],
    shows schema: JSON,
    fields: [RouteField] = [],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    let fields = RouteField.validators + fields
    return RouteDescription(
      name,
      part: "Accounts",
      access: .user,
      parameters: parameters + [.ifNoneMatch],
      answers: [RouteAnswer(.ok, "What there is.", fields: fields, json: schema), .unmodified],
      problems: problems.union([.invalidParameter, .unauthorized, .overloaded]),
      schemas: schemas
    )
  }

  private static func writing(
    _ name: String,
    parameters: [RouteParameter] = [],
    body members: [SchemaMember] = [],
    problems: Set<ProblemKind>
  ) -> RouteDescription {
    let body = members.isEmpty ? nil : RouteBody(.closedSchema(of: members))
    return RouteDescription(
      name,
      part: "Accounts",
      access: .user,
      parameters: parameters + RouteParameter.writing,
      body: body,
      answers: [.done],
      problems: problems.union(RouteDescription.bodyProblems(body)).union([
        .invalidParameter, .unauthorized, .conflict, .preconditionFailed, .validationFailed, .overloaded,
      ])
    )
  }
}
