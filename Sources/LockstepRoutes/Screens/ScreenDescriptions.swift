import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI
import LockstepScreens

/// Describes `ScreenRoutes` in OpenAPI. Actions and states come from the screens' declarations.
struct ScreenDescriptions {
  private static let part = "Reactors"
  private static let access = RouteDescription.Access.anybodyOrUser

  let kinds: [ScreenDeclaration]

  static var catalogue: RouteDescription {
    // Payloads, states and arguments are JSON Schemas, so each is an object.
    let schema: JSON = ["type": "object"]
    let action = JSON.schema(["type": .textSchema, "payload": schema])
    let item = JSON.schema(
      [
        "name": .textSchema, "scope": ["enum": ["user", "screen"]], "auth": ["type": "boolean"],
        "actions": .arraySchema(of: .reference("ReactorInput")), "state": schema,
      ],
      optional: ["description": .textSchema, "href": .textSchema, "start": ["type": "boolean"], "arguments": schema]
    )
    return .document(
      "listReactors",
      part: part,
      shows: .schema(["items": .arraySchema(of: .reference("Reactor"))]),
      schemas: ["Reactor": item, "ReactorInput": action]
    )
  }

  var open: RouteDescription {
    let arguments: JSON = ["anyOf": .array(distinct(kinds.map(\.arguments)) + [["type": "null"]])]
    var schemas = states
    for kind in kinds {
      schemas[Self.openedKey(of: kind)] = .schema([
        "id": .textSchema, "name": ["const": .string(kind.name)], "cursor": .cursorSchema, "href": .textSchema,
        "state": Self.state(of: kind),
      ])
    }
    let body = RouteBody(.closedSchema([:], optional: ["arguments": arguments]), isRequired: false)
    return RouteDescription(
      "openScreen",
      part: Self.part,
      access: Self.access,
      parameters: [name] + queryArguments + [.acceptLanguage, .idempotencyKey],
      body: body,
      responses: [
        RouteResponse(
          .created,
          "The screen is open.",
          fields: RouteField.validators + [.location, .idempotencyReplayed],
          json: .oneOf(kinds.map { ($0.name, Self.openedKey(of: $0)) }, by: "name")
        )
      ],
      problems: RouteDescription.bodyProblems(body).union([
        .invalidParameter, .unauthorized, .notFound, .conflict, .tooManyRequests, .overloaded,
      ]),
      schemas: schemas
    )
  }

  var read: RouteDescription {
    let fields = RouteField.validators.map(\.sometimes) + [.preferenceApplied]
    return RouteDescription(
      "getScreen",
      part: Self.part,
      access: Self.access,
      parameters: [name, Self.id] + RouteParameter.waiting + [.ifMatchOfRead, .ifNoneMatch, .lastEventID],
      responses: [
        RouteResponse(
          .ok,
          "The screen's state. If Accept asks for text/event-stream, a stream of events named `state`. The id of an "
            + "event is a cursor. Its data is the JSON document at this cursor.",
          fields: fields,
          content: [("application/json", shown), ("text/event-stream", .textSchema)]
        ),
        RouteResponse(
          .notModified,
          "The screen's state has not changed, even after the wait. The client already has it.",
          fields: fields
        ),
      ],
      problems: [.invalidParameter, .unauthorized, .notFound, .tooManyRequests, .overloaded],
      schemas: shownSchemas
    )
  }

  var act: RouteDescription {
    let actions = kinds.flatMap { DescribedModule.schemas(ofActions: $0.actions) }
    let action = JSON.reference("ScreenInput")
    let several: JSON = [
      "type": "array", "items": action, "minItems": 1, "maxItems": JSON(ScreenRoutes.maximumActions),
    ]
    let fields = RouteField.validators + [.idempotencyReplayed]
    let response = RouteResponse(.ok, "The screen's state after the immediate mutations.", fields: fields, json: shown)
    var description = writing("actOnScreen", RouteBody(["oneOf": [action, several]]), response)
    description.schemas = shownSchemas
    description.schemas["ScreenInput"] = ["anyOf": .array(distinct(actions))]
    return description
  }

  var close: RouteDescription { writing("closeScreen", nil, .done) }

  // MARK: Shared parts

  private static let id = RouteParameter("id", in: .path, "The id of an open screen.", schema: .textSchema)

  private var name: RouteParameter {
    RouteParameter(
      "name",
      in: .path,
      "The kind of screen.",
      schema: ["type": "string", "enum": .array(kinds.map { .string($0.name) })],
      sharedName: "screen"
    )
  }

  /// The arguments as query parameters, so that a link can contain them.
  private var queryArguments: [RouteParameter] {
    let members = kinds.flatMap { $0.arguments["properties"]?.objectValue.map(Array.init) ?? [] }
    return members.map { RouteParameter($0.name, in: .query, "An argument of the screen.", schema: $0.value) }
  }

  private func writing(_ name: String, _ body: RouteBody?, _ response: RouteResponse) -> RouteDescription {
    RouteDescription(
      name,
      part: Self.part,
      access: Self.access,
      parameters: [self.name, Self.id] + RouteParameter.writing,
      body: body,
      responses: [response],
      problems: RouteDescription.bodyProblems(body).union([
        .invalidParameter, .unauthorized, .notFound, .conflict, .preconditionFailed, .validationFailed, .overloaded,
      ])
    )
  }

  private var shown: JSON { .reference("ShownScreen") }

  private var shownSchemas: [String: JSON] {
    var schemas = states
    schemas["ShownScreen"] = .schema(["cursor": .cursorSchema, "state": ["anyOf": .array(kinds.map(Self.state))]])
    return schemas
  }

  private static func state(of kind: ScreenDeclaration) -> JSON { .reference(stateKey(of: kind)) }

  private static func stateKey(of kind: ScreenDeclaration) -> String { "\(kind.name.inPascalCase).screen" }

  private static func openedKey(of kind: ScreenDeclaration) -> String { "Opened.\(kind.name).screen" }

  private var states: [String: JSON] {
    Dictionary(kinds.map { (Self.stateKey(of: $0), $0.state) }) { first, _ in first }
  }

  private func distinct(_ schemas: [JSON]) -> [JSON] {
    schemas.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}
