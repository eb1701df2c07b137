import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware

/// The OpenAPI 3.1 description of a table of routes, made of what each says of itself.
///
/// What routes share (parameters, header fields, schemas, problems) stands there once and is referred to.
struct OpenAPIDocument {
  private var paths = JSONObject()
  private var parameters = JSONObject()
  private var fields = JSONObject()
  private var schemas = JSONObject()
  private var responses = JSONObject()
  private var parts: [String] = []

  /// The document of these routes: of those that are described.
  static func json(of routes: [Route]) -> JSON {
    var document = OpenAPIDocument()
    document.addProblems()
    for route in routes { if let description = route.description { document.add(route, description) } }
    return document.json
  }

  private var json: JSON {
    [
      "openapi": "3.1.0",
      "info": [
        "title": "Lockstep", "version": .string(lockstepVersion),
        "summary": "Keeps each user's favorites, defaults and other app state in lockstep on all of their devices.",
        "description": .string(Self.conventions),
      ],
      "servers": [["url": "/", "description": "The server that gives this document."]],
      "tags": .array(parts.map { ["name": .string($0)] }),
      "paths": .object(paths),
      "components": [
        "securitySchemes": [
          "user": ["type": "http", "scheme": "bearer", "description": "A token, as signUp and logIn give it."],
          "administrator": [
            "type": "http", "scheme": "bearer",
            "description": "The token that the operator has set. Without one these routes aren't there.",
          ],
        ],
        "parameters": .object(parameters), "headers": .object(fields), "responses": .object(responses),
        "schemas": .object(schemas),
      ],
    ]
  }

  /// What holds for all routes, and isn't said of each.
  private static let conventions = """
    JSON in, JSON out. A request's body is read as JSON when its Content-Type is absent, `application/json`, any `+json`, or \
    `application/x-www-form-urlencoded`, which plain `curl -d` sends.

    Wherever there is GET there is HEAD: the same fields, no body. OPTIONS of any path answers 204 with Allow, and a CORS \
    preflight where origins are allowed. A method that a path doesn't have is answered 405 with Allow.

    A write, login or sign-up with an `Origin` that is neither the server's own nor allowed by the operator is refused \
    with 403 `forbidden`.

    Below `/v1`, a query parameter that an operation does not list is refused with 400 `invalid-parameter`.

    Every error is a problem document (RFC 9457) whose type can be fetched and explains itself. Beside those that a route \
    names, any may come that has to do with HTTP itself or with the server's own condition: the response `default`.

    Where the operator limits how often a token or an address may ask, any request may be answered 429, and all answers \
    say in `RateLimit` how much is left of what `RateLimit-Policy` allows (draft-ietf-httpapi-ratelimit-headers).

    A request's `X-Request-Id`, of 1 to 128 visible ASCII characters, is said back in its answer.

    A write that was answered 2xx is on disk. A cursor is opaque: compare it for equality only.
    """

  // MARK: Routes

  private mutating func add(_ route: Route, _ description: RouteDescription) {
    if !parts.contains(description.part) { parts.append(description.part) }
    for (name, schema) in description.schemas.sorted(by: { $0.key < $1.key }) { schemas[name] = schema }
    var operation: JSONObject = [
      "operationId": .string(description.name), "tags": [.string(description.part)], "summary": .string(route.summary),
      "security": Self.security(description.access),
    ]
    operation["parameters"] = .array((description.parameters + [.requestID]).map { reference(to: $0) })
    if let body = description.body {
      operation["requestBody"] = ["required": .bool(body.isRequired), "content": Self.content(body.content)]
    }
    var answers = JSONObject()
    for answer in description.answers {
      answers[String(answer.status.code)] = reference(to: answer, description.access)
    }
    // `OriginCheck` may refuse any write.
    let problems = route.method == .get ? description.problems : description.problems.union([.forbidden])
    addProblems(problems, to: &answers)
    operation["responses"] = .object(answers)
    var path = paths[route.pattern]?.objectValue ?? JSONObject()
    path[route.method.name.lowercased()] = .object(operation)
    paths[route.pattern] = .object(path)
  }

  private static func security(_ access: RouteDescription.Access) -> JSON {
    switch access {
    case .anybody: []
    case .user: [["user": []]]
    case .anybodyOrUser: [[:], ["user": []]]
    case .administrator: [["administrator": []]]
    }
  }

  private static func content(_ content: [(type: String, schema: JSON)]) -> JSON {
    .object(JSONObject(content.map { ($0.type, ["schema": $0.schema]) }))
  }

  // MARK: What is shared

  private mutating func reference(to parameter: RouteParameter) -> JSON {
    var described: JSONObject = [
      "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
      "description": .string(parameter.summary),
    ]
    if parameter.place == .path { described["required"] = true }
    described["schema"] = parameter.schema
    guard let name = parameter.sharedName else { return .object(described) }
    parameters[name] = .object(described)
    return ["$ref": .string("#/components/parameters/\(name)")]
  }

  private mutating func headers(_ described: [RouteField]) -> JSON {
    var headers = JSONObject()
    for field in described {
      let name = field.isAlways ? field.name : "\(field.name)-where-known"
      fields[name] = [
        "description": .string(field.summary), "required": .bool(field.isAlways), "schema": field.schema,
      ]
      headers[field.name] = ["$ref": .string("#/components/headers/\(name)")]
    }
    return .object(headers)
  }

  private mutating func reference(to answer: RouteAnswer, _ access: RouteDescription.Access) -> JSON {
    let reference = answer.sharedName.map { JSON.string("#/components/responses/\($0)") }
    if let name = answer.sharedName, let reference, responses[name] != nil { return ["$ref": reference] }
    var response: JSONObject = [
      "description": .string(answer.summary), "headers": headers(answer.allFields(for: access)),
    ]
    if !answer.content.isEmpty { response["content"] = Self.content(answer.content) }
    guard let name = answer.sharedName, let reference else { return .object(response) }
    responses[name] = .object(response)
    return ["$ref": reference]
  }

  // MARK: Problems

  private mutating func addProblems() {
    schemas["Problem"] = ProblemKind.documentSchema
    responses["Problem"] = [
      "description": "Any other problem.", "headers": headers(ProblemKind.fields(ofAny: ProblemKind.allCases)),
      "content": Self.content([("application/problem+json", .reference("Problem"))]),
    ]
  }

  /// Refers to the problems of a route: those of one status share a response.
  private mutating func addProblems(_ problems: Set<ProblemKind>, to answers: inout JSONObject) {
    let kinds = ProblemKind.allCases.filter(problems.contains)
    for status in Set(kinds.map(\.status.code)).sorted() {
      let kinds = kinds.filter { $0.status.code == status }
      let name = kinds.map(\.slug).joined(separator: ".")
      if responses[name] == nil { responses[name] = response(with: kinds) }
      answers[String(status)] = ["$ref": .string("#/components/responses/\(name)")]
    }
    answers["default"] = ["$ref": "#/components/responses/Problem"]
  }

  private mutating func response(with kinds: [ProblemKind]) -> JSON {
    let types = kinds.map { JSON.string("/problems/\($0.slug)") }
    let statuses = Set(kinds.map(\.status.code)).sorted().map { JSON($0) }
    let narrowed: JSON = ["properties": ["type": ["enum": .array(types)], "status": ["enum": .array(statuses)]]]
    let schema: JSON = ["allOf": [.reference("Problem"), narrowed]]
    return [
      "description": .string(kinds.map { "\($0.title). \($0.explanation)" }.joined(separator: "\n\n")),
      "headers": headers(ProblemKind.fields(ofAny: kinds)),
      "content": Self.content([("application/problem+json", schema)]),
    ]
  }
}

extension ProblemKind {
  /// The JSON Schema of every problem document.
  fileprivate static var documentSchema: JSON {
    let fault = JSON.schema(ofObject: [
      SchemaMember(name: "pointer", schema: ["type": "string", "description": "A JSON Pointer into the body."]),
      SchemaMember(name: "detail", schema: .textSchema),
    ])
    return .schema(ofObject: [
      SchemaMember(name: "type", schema: ["type": "string", "format": "uri-reference"]),
      SchemaMember(name: "title", schema: .textSchema),
      SchemaMember(name: "status", schema: ["type": "integer"]),
      SchemaMember(name: "detail", schema: .textSchema),
      SchemaMember(name: "errors", schema: .arraySchema(of: fault), isRequired: false),
      SchemaMember(
        name: "failed",
        schema: ["type": "integer", "minimum": 0, "description": "Which of several actions was refused."],
        isRequired: false
      ),
      SchemaMember(
        name: "current",
        schema: ["description": "What there is, where that isn't what a condition asks for."],
        isRequired: false
      ),
      SchemaMember(name: "cursor", schema: .cursorSchema, isRequired: false),
      SchemaMember(
        name: "notReady",
        schema: .arraySchema(of: ["enum": ["server", "store"]]),
        isRequired: false
      ),
      SchemaMember(
        name: "violated-policies",
        schema: .arraySchema(of: ["enum": .array(RateMeter.Partition.allCases.map { .string($0.rawValue) })]),
        isRequired: false
      ),
    ])
  }
}
