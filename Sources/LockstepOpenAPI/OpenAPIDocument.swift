import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware

/// The OpenAPI 3.1 document of a route table, made from the descriptions of the routes.
///
/// Parameters, header fields, schemas and problems that routes share appear once, as components.
package struct OpenAPIDocument {
  private var paths = JSONObject()
  private var parameters = JSONObject()
  private var fields = JSONObject()
  private var schemas = SchemaComponents()
  private var operations = UniqueNames()
  private var responses = JSONObject()
  private var parts: [String] = []

  /// Makes the document. Routes without a description are left out.
  package static func json(of routes: [Route]) -> JSON {
    var document = OpenAPIDocument()
    document.addProblems()
    for route in routes { if let description = route.description { document.add(route, description) } }
    return document.json
  }

  private var json: JSON {
    let (schemas, paths) = schemas.named(.object(paths))
    let responses = self.schemas.named(.object(responses)).document
    return [
      "openapi": "3.1.0",
      "info": [
        "title": "Lockstep", "version": .string(lockstepVersion),
        "summary": "Keeps each user's favorites, user defaults and other app state the same on all of their devices.",
        "description": .string(Self.conventions),
      ],
      "servers": [["url": "/", "description": "This server."]],
      "tags": .array(parts.map { ["name": .string($0)] }),
      "paths": paths,
      "components": [
        "securitySchemes": [
          "user": [
            "type": "http", "scheme": "bearer",
            "description":
              "A token from signUp or logIn, or a token (JWT) of an issuer that the operator has allowed with --identity.",
          ],
          "administrator": [
            "type": "http", "scheme": "bearer",
            "description": "The token that the operator has set. If there is none, these routes respond with 404.",
          ],
        ],
        "parameters": .object(parameters), "headers": .object(fields), "responses": responses,
        "schemas": schemas,
      ],
    ]
  }

  private static let conventions = """
    Requests and responses are JSON. The server reads a body as JSON if its `Content-Type` is absent, \
    `application/json`, any `+json`, or `application/x-www-form-urlencoded`, which plain `curl -d` sends.

    Every GET route supports HEAD too. OPTIONS of an existing path gets 204 with `Allow`. A preflight from an allowed \
    origin also gets the CORS fields. A known method that a path does not support gets 405 with `Allow`. An unknown \
    method gets 501.

    The server responds with 403 `forbidden` to a write, login or sign-up whose `Origin` is neither the server's own \
    nor one that the operator allows.

    Below `/v1`, a request with a query parameter that its operation does not list gets 400 `invalid-parameter`.

    Every error is a problem document (RFC 9457). GET its `type` to read an explanation. The response `default` stands \
    for problems that any route can have: those about HTTP itself, and those about the server's condition.

    If the operator limits the rate of requests per token or IP address, any limited request may get 429. `RateLimit` \
    in its response says what is left of the limit in `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).

    A response repeats the request's `X-Request-Id`, if its value has 1 to 128 visible ASCII characters.

    A 2xx response to a write means that the write is on disk. Cursors are opaque: compare them for equality only.
    """

  // MARK: Routes

  private mutating func add(_ route: Route, _ description: RouteDescription) {
    if !parts.contains(description.part) { parts.append(description.part) }
    for (name, schema) in description.schemas.sorted(by: { $0.key < $1.key }) { schemas.add(name, schema) }
    let name = operations.add(description.name)
    var operation: JSONObject = [
      "operationId": .string(name), "tags": [.string(description.part)], "summary": .string(route.summary),
      "security": Self.security(description.access),
    ]
    operation["parameters"] = .array((description.parameters + [.requestID]).map { reference(to: $0) })
    if let body = description.body {
      operation["requestBody"] = [
        "required": .bool(body.isRequired), "content": content(body.content, "\(name.inPascalCase).body"),
      ]
    }
    var operationResponses = JSONObject()
    for response in description.responses {
      operationResponses[String(response.status.code)] = reference(to: response, of: name, description.access)
    }
    // `OriginCheck` may refuse any write.
    let problems = route.method == .get ? description.problems : description.problems.union([.forbidden])
    addProblems(problems, to: &operationResponses)
    operation["responses"] = .object(operationResponses)
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

  private mutating func content(_ content: [(type: String, schema: JSON)], _ key: String) -> JSON {
    .object(JSONObject(content.map { ($0.type, ["schema": schemas.addBody(key, $0.schema)]) }))
  }

  // MARK: Components

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

  private mutating func reference(
    to response: RouteResponse,
    of operation: String,
    _ access: RouteDescription.Access
  ) -> JSON {
    let reference = response.sharedName.map { JSON.string("#/components/responses/\($0)") }
    if let name = response.sharedName, let reference, responses[name] != nil { return ["$ref": reference] }
    var described: JSONObject = [
      "description": .string(response.summary), "headers": headers(response.allFields(for: access)),
    ]
    if !response.content.isEmpty {
      described["content"] = content(response.content, "\(operation.inPascalCase).response")
    }
    guard let name = response.sharedName, let reference else { return .object(described) }
    responses[name] = .object(described)
    return ["$ref": reference]
  }

  // MARK: Problems

  private mutating func addProblems() {
    schemas.add("Problem", ProblemKind.documentSchema)
    responses["Problem"] = [
      "description": "Any other problem.", "headers": headers(ProblemKind.fields(ofAny: ProblemKind.allCases)),
      "content": Self.problemContent(.reference("Problem")),
    ]
  }

  /// Adds the problems of a route to its responses. Problems with the same status share a response.
  private mutating func addProblems(_ problems: Set<ProblemKind>, to operationResponses: inout JSONObject) {
    let kinds = ProblemKind.allCases.filter(problems.contains)
    for status in Set(kinds.map(\.status.code)).sorted() {
      let kinds = kinds.filter { $0.status.code == status }
      let name = kinds.map(\.slug.inPascalCase).joined(separator: "Or")
      if responses[name] == nil { responses[name] = response(with: kinds) }
      operationResponses[String(status)] = ["$ref": .string("#/components/responses/\(name)")]
    }
    operationResponses["default"] = ["$ref": "#/components/responses/Problem"]
  }

  private mutating func response(with kinds: [ProblemKind]) -> JSON {
    let types = kinds.map { JSON.string("/problems/\($0.slug)") }
    let statuses = Set(kinds.map(\.status.code)).sorted().map { JSON($0) }
    // The members beside the reference, and no schema of its own, so that generators make one type
    // for all problems.
    let schema: JSON = [
      "$ref": "#/components/schemas/Problem",
      "properties": ["type": ["enum": .array(types)], "status": ["enum": .array(statuses)]],
    ]
    return [
      "description": .string(kinds.map { "\($0.title). \($0.explanation)" }.joined(separator: "\n\n")),
      "headers": headers(ProblemKind.fields(ofAny: kinds)),
      "content": Self.problemContent(schema),
    ]
  }

  private static func problemContent(_ schema: JSON) -> JSON { ["application/problem+json": ["schema": schema]] }
}

extension ProblemKind {
  fileprivate static var documentSchema: JSON {
    let pointer: JSON = ["type": "string", "description": "A JSON Pointer into the body."]
    let policies = RateMeter.Partition.allCases.map { JSON.string($0.rawValue) }
    return .schema(
      [
        "type": .addressSchema, "title": .textSchema, "status": ["type": "integer"],
        "detail": .textSchema,
      ],
      optional: [
        "errors": .arraySchema(of: .schema(["pointer": pointer, "detail": .textSchema])),
        "id": ["type": "string", "description": "The id of the resource that an earlier request has created."],
        "failed": ["type": "integer", "minimum": 0, "description": "The index of the action that was refused."],
        "current": ["description": "The present resource, if a precondition failed."],
        "cursor": .cursorSchema,
        "notReady": .arraySchema(of: ["enum": ["server", "store"]]),
        "violated-policies": .arraySchema(of: ["enum": .array(policies)]),
      ]
    )
  }
}
