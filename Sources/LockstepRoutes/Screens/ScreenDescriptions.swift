import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepScreens

/// Describes `ScreenRoutes` in OpenAPI. Actions and states come from the screens' declarations.
struct ScreenDescriptions {
  private static let part = "Reactors"
  private static let access = RouteDescription.Access.anybodyOrUser

  let kinds: [ScreenKind]

  static var catalogue: RouteDescription {
    let member = { (name: String, schema: JSON) in SchemaMember(name: name, schema: schema, isRequired: false) }
    let action = JSON.schema(ofObject: [
      SchemaMember(name: "type", schema: .textSchema), SchemaMember(name: "payload", schema: schemaSchema),
    ])
    let item = JSON.schema(ofObject: [
      SchemaMember(name: "name", schema: .textSchema),
      SchemaMember(name: "scope", schema: ["enum": ["user", "screen"]]),
      SchemaMember(name: "auth", schema: ["type": "boolean"]),
      SchemaMember(name: "actions", schema: .arraySchema(of: action)),
      SchemaMember(name: "state", schema: schemaSchema),
      member("href", .textSchema), member("start", ["type": "boolean"]), member("arguments", schemaSchema),
    ])
    return PreparedDocument.described(
      "listReactors",
      part: part,
      shows: .schema(ofObject: [SchemaMember(name: "items", schema: .arraySchema(of: item))])
    )
  }

  var open: RouteDescription {
    let arguments = JSON.closedSchema(of: [
      SchemaMember(
        name: "arguments",
        schema: ["anyOf": .array(distinct(kinds.map(\.arguments)) + [["type": "null"]])],
        isRequired: false
      )
    ])
    let opened = kinds.map { kind in
      JSON.schema(ofObject: [
        SchemaMember(name: "id", schema: .textSchema),
        SchemaMember(name: "name", schema: ["const": .string(kind.name)]),
        SchemaMember(name: "cursor", schema: .cursorSchema),
        SchemaMember(name: "href", schema: .textSchema),
        SchemaMember(name: "state", schema: Self.state(of: kind)),
      ])
    }
    let body = RouteBody(arguments, isRequired: false)
    return RouteDescription(
      "openScreen",
      part: Self.part,
      access: Self.access,
      parameters: [name] + queryArguments + [.idempotencyKey],
      body: body,
      answers: [
        RouteResponse(
          .created,
          "The screen is open.",
          fields: RouteField.validators + [.location, .idempotencyReplayed],
          json: ["oneOf": .array(opened)]
        )
      ],
      problems: RouteDescription.bodyProblems(body).union([
        .invalidParameter, .unauthorized, .notFound, .conflict, .tooManyRequests, .overloaded,
      ]),
      schemas: states
    )
  }

  var read: RouteDescription {
    let fields = RouteField.validators.map(\.sometimes) + [.preferenceApplied]
    return RouteDescription(
      "getScreen",
      part: Self.part,
      access: Self.access,
      parameters: [name, Self.id] + RouteParameter.waiting + [.ifNoneMatch, .lastEventID],
      answers: [
        RouteResponse(
          .ok,
          "Its state. As a stream of server-sent events, where Accept asks for text/event-stream: each event is named "
            + "state, its id is the cursor, its data the same document.",
          fields: fields,
          content: [("application/json", shown), ("text/event-stream", .textSchema)]
        ),
        RouteResponse(.notModified, "The client has this state, or the wait is over.", fields: fields),
      ],
      problems: [.invalidParameter, .unauthorized, .notFound, .tooManyRequests],
      schemas: states
    )
  }

  var act: RouteDescription {
    let actions = kinds.flatMap { DescribedModule.schemas(ofActions: $0.actions) }
    let action: JSON = ["anyOf": .array(distinct(actions))]
    let several: JSON = [
      "type": "array", "items": action, "minItems": 1, "maxItems": JSON(ScreenRoutes.maximumActions),
    ]
    let body = RouteBody(["oneOf": [action, several]])
    return writing(
      "actOnScreen",
      parameters: RouteParameter.writing,
      body: body,
      answers: [
        RouteResponse(
          .ok,
          "Its state after the immediate mutations.",
          fields: RouteField.validators + [.idempotencyReplayed],
          json: shown
        )
      ]
    )
  }

  var close: RouteDescription {
    writing("closeScreen", parameters: RouteParameter.writing, answers: [.done])
  }

  // MARK: Shared parts

  private static let schemaSchema: JSON = ["type": "object"]

  private static let id = RouteParameter("id", in: .path, "The id with which it was opened.", schema: .textSchema)

  private var name: RouteParameter {
    RouteParameter(
      "name",
      in: .path,
      "Which kind of screen.",
      schema: ["type": "string", "enum": .array(kinds.map { .string($0.name) })],
      sharedName: "screen"
    )
  }

  /// The arguments in the query, where links have them.
  private var queryArguments: [RouteParameter] {
    let members = kinds.flatMap { $0.arguments["properties"]?.objectValue.map(Array.init) ?? [] }
    return members.map { RouteParameter($0.name, in: .query, "An argument, as a link has it.", schema: $0.value) }
  }

  private func writing(
    _ name: String,
    parameters: [RouteParameter],
    body: RouteBody? = nil,
    answers: [RouteResponse]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: Self.part,
      access: Self.access,
      parameters: [self.name, Self.id] + parameters,
      body: body,
      answers: answers,
      problems: RouteDescription.bodyProblems(body).union([
        .invalidParameter, .unauthorized, .notFound, .conflict, .preconditionFailed, .validationFailed, .overloaded,
      ]),
      schemas: states
    )
  }

  private var shown: JSON {
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "state", schema: ["anyOf": .array(kinds.map(Self.state))]),
    ])
  }

  private static func state(of kind: ScreenKind) -> JSON { .reference(stateName(of: kind)) }

  private static func stateName(of kind: ScreenKind) -> String { "screen.\(kind.name).state" }

  private var states: [String: JSON] {
    Dictionary(kinds.map { (Self.stateName(of: $0), $0.state) }) { first, _ in first }
  }

  private func distinct(_ schemas: [JSON]) -> [JSON] {
    schemas.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}
