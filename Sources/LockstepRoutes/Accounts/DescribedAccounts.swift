import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI

// The OpenAPI descriptions of the routes about the user's account.

extension RouteDescription {
  static func account(
    _ name: String,
    _ parameters: [RouteParameter] = [],
    shows schema: JSON,
    fields: [RouteField] = [],
    _ problems: Set<ProblemKind> = [],
    schemas: [String: JSON]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Accounts",
      access: .user,
      parameters: parameters + [.ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(schema, fields: RouteField.validators + fields), .unmodified],
      problems: problems.union([.invalidParameter, .unauthorized, .overloaded]),
      schemas: schemas
    )
  }

  /// A change of the account. No quota applies.
  static func changingAccount(
    _ name: String,
    _ parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    problems: Set<ProblemKind>
  ) -> RouteDescription {
    var description = writing(
      name,
      part: "Accounts",
      parameters: parameters,
      body: body,
      responses: [.done],
      problems: problems
    )
    description.problems.remove(.quotaExceeded)
    return description
  }

  /// The description of the export. `own` are the modules that the app has added.
  static func export(own: [UserModule], declared: [UserModule]) -> RouteDescription {
    func member(_ module: UserModule) -> SchemaMember {
      let element = DescribedModule(module: module).element
      let contents: JSON =
        module.kind == .list ? .arraySchema(of: element) : ["type": "object", "additionalProperties": element]
      return SchemaMember(name: module.name, schema: contents, isRequired: false)
    }
    let more = JSON.schema(
      [:],
      optional: [
        "passwordChangedAt": .timeSchema, "identity": .schema(["issuer": .textSchema, "subject": .textSchema]),
      ]
    )
    let session = JSON.schema(
      [
        "id": .uuidSchema, "device": .nullableTextSchema, "createdAt": .timeSchema, "lastSeenAt": .timeSchema,
        "expiresAt": .timeSchema,
      ],
      optional: ["cursor": .cursorSchema]
    )
    var members = [
      SchemaMember(name: "user", schema: .reference("ExportedUser")),
      SchemaMember(name: "sessions", schema: .arraySchema(of: .reference("ExportedSession"))),
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "favorites", schema: .arraySchema(of: .reference("favorites.element"))),
      SchemaMember(name: "defaults", schema: ["type": "object", "additionalProperties": .valuesSchema]),
      SchemaMember(name: "profile", schema: .reference("profile.state")),
    ]
    if !own.isEmpty { members.append(SchemaMember(name: "modules", schema: .schema(ofObject: own.map(member)))) }
    members += declared.sorted { $0.name < $1.name }.map(member)
    let snapshot = JSON.schema(
      ["collection": .textSchema, "cursor": .cursorSchema],
      optional: ["items": .arraySchema(of: .reference("ListItem")), "values": .valuesSchema]
    )
    let key = JSON.schema(["key": .textSchema, "at": .timeSchema])
    members += [
      SchemaMember(name: "journal", schema: .arraySchema(of: .reference("JournalEntry"))),
      SchemaMember(name: "snapshots", schema: .arraySchema(of: .reference("ExportedSnapshot"))),
      SchemaMember(name: "idempotencyKeys", schema: .arraySchema(of: .reference("ExportedKey"))),
    ]
    return account(
      "export",
      shows: .reference("Export"),
      fields: [.cursor, .revision],
      schemas: .shared(
        ("Export", .schema(ofObject: members)),
        ("ExportedUser", ["allOf": [.reference("User"), more]]),
        ("ExportedSession", session),
        ("ExportedSnapshot", snapshot),
        ("ExportedKey", key),
        ("User", User.format.schema),
        SharedSchema.listItem,
        JournalRoute.entrySchema,
        SharedSchema.mutation
      )
    )
  }
}
