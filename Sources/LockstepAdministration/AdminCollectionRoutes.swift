import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync
import LockstepThreading

/// `/v1/admin/collections`: the declared collections.
package struct AdminCollectionRoutes: Sendable {
  private static let pattern = "/v1/admin/collections"
  /// A schema has at most 64 KiB, and a declaration is little more than a schema.
  private static let bodyLimit = 256 * 1024

  private let gate: AdministratorGate
  private let declared: DeclaredLedger
  private let ledger: Ledger

  package init(_ gate: AdministratorGate, _ declared: DeclaredLedger, _ ledger: Ledger) {
    (self.gate, self.declared, self.ledger) = (gate, declared, ledger)
  }

  package var routes: [Route] {
    [
      Route(.get, Self.pattern, summary: "Lists the declared collections.") { request in
        try gate.admit(request, .read) { _ in
          let items = declared.current.declared.sorted { $0.key < $1.key }.map(\.value.json)
          return .response(try PrivateDocument(["items": .array(items)]).response(Preconditions(of: request.head)))
        }
      }
      .described(Self.listing),
      Route(.get, "\(Self.pattern)/{name}", summary: "Shows the declaration of a collection.") { request in
        try gate.admit(request, .read) { _ in
          guard let found = declared.current.declared[Self.name(in: request).exact] else { throw Self.missing(request) }
          return .response(try Self.document(found).response(Preconditions(of: request.head)))
        }
      }
      .described(Self.showing),
      Route(
        .put,
        "\(Self.pattern)/{name}",
        summary: "Declares a collection, or replaces its declaration.",
        bodyLimit: Self.bodyLimit
      ) { request in
        try gate.admit(request, .admin) { agent in try request.withBody { try declare(request, $0, by: agent) } }
      }
      .described(Self.declaring),
      Route(
        .delete,
        "\(Self.pattern)/{name}",
        summary: "Deletes the declaration of a collection, and on request its data."
      ) { request in
        try gate.admit(request, .admin) { agent in try delete(request, by: agent) }
      }
      .described(Self.deletion),
    ]
  }

  private static func name(in request: Request) -> String { request.parameters["name"] ?? "" }

  private static func missing(_ request: Request) -> Problem {
    Problem(.notFound, detail: "There is no declared collection “\(name(in: request))”.")
  }

  private static func document(_ declared: DeclaredModule) -> PrivateDocument {
    PrivateDocument(declared.json)
  }

  private static func refusal(_ error: any Error) -> StoredResponse? {
    (error as? Refusal).map { StoredResponse(Problem($0).response) }
      ?? (error as? Problem).map { StoredResponse($0.response) }
  }

  private static func problem(of error: any Error) -> Problem? {
    (error as? Refusal).map { Problem($0) } ?? Problem.describing(error)
  }

  private func declare(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    let name = Self.name(in: request)
    if let wrong = DeclaredCollection.fault(ofName: name) { throw Problem(.invalidParameter, detail: wrong) }
    let preconditions = try Preconditions(of: request.head)
    let key = try IdempotencyKey(of: request, body: body)
    let json = try JSON(readingBodyOf: request, body)
    let declaration: DeclaredCollection
    do throws(Refusal) {
      declaration = try DeclaredCollection(json, named: name)
    } catch {
      throw Problem(error)
    }
    let change = DeclaredLedger.Change(
      [declaration],
      key: key,
      owner: agent.keyOwner,
      by: agent,
      check: { try Self.check(preconditions, name, in: $0) },
      response: { before, after in
        let isNew = before.declared[name.exact] == nil
        let document = after.declared[name.exact].map(Self.document) ?? PrivateDocument(declaration.json)
        var response = Response.json(document.json, status: isNew ? .created : .ok, cacheControl: "no-store")
        response.fields.append(.etag, "\"\(document.tag)\"")
        if isNew { response.fields.append(.location, "\(Self.pattern)/\(name)") }
        return StoredResponse(response)
      },
      refusal: { Self.refusal($0) }
    )
    return .making(Self.problem(of:)) { () async throws -> Response in
      let response = try await declared.declare(change)
      if !response.isReplay { gate.log("declare collection", name, agent.name) }
      return Response(response)
    }
  }

  private func delete(_ request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    let name = Self.name(in: request)
    let preconditions = try Preconditions(of: request.head)
    let erases = try request.query.flag("erase")
    let key = try IdempotencyKey(of: request, body: [])
    var erase: (@Sendable (UserID) async throws -> Void)?
    if erases {
      erase = { user in
        guard let found = declared.current.declared[name.exact] else { return }
        try await ledger.erase(found.declaration, of: user, by: agent)
      }
    }
    let deletion = DeclaredLedger.Deletion(
      of: name,
      key: key,
      owner: agent.keyOwner,
      by: agent,
      hint: "To erase it together with the declaration, repeat the request with ?erase=true.",
      check: { set in try Self.check(preconditions, name, in: set) },
      erase: erase,
      refusal: { error in Self.refusal(error) }
    )
    return .making(Self.problem(of:)) { () async throws -> Response in
      let response = try await declared.delete(deletion, response: StoredResponse(.done))
      if !response.isReplay, response.response.status == Status.noContent.code {
        gate.log(erases ? "delete collection and its data" : "delete collection", name, agent.name)
      }
      return Response(response)
    }
  }

  private static func check(
    _ preconditions: Preconditions,
    _ name: String,
    in set: ModuleSet
  ) throws(Problem) {
    guard let present = set.declared[name.exact] else {
      // Nothing is there, so no tag matches it.
      if preconditions.ifMatch != nil { throw Problem(.preconditionFailed, members: [("current", .null)]) }
      return
    }
    // Closing a collection changes its tag. The tag from before the closing is still accepted.
    if present.isClosing, preconditions.allowsWrite(to: PrivateDocument(present.declaration.json).tag) { return }
    do throws(AccountsError) { try document(present).check(preconditions) } catch { throw Problem(error) }
  }

  // MARK: Descriptions

  private static let nameParameter = RouteParameter(
    "name",
    in: .path,
    "The name of a declared collection.",
    schema: ["type": "string", "pattern": "^[a-z][A-Za-z0-9]{0,63}$"]
  )

  private static let schemas: [String: JSON] = [
    "CollectionDeclaration": .schema(
      [
        "name": ["type": "string", "pattern": "^[a-z][A-Za-z0-9]{0,63}$"], "kind": ["enum": ["list", "map"]],
        "schema": schema(orNull: false), "quota": .schema(["elements": .indexSchema, "bytes": .indexSchema]),
        "access": access,
      ],
      optional: ["description": .textSchema, "deleting": deleting]
    )
  ]
  private static let access: JSON = ["enum": ["readWrite", "readOnly"]]
  private static let deleting: JSON = [
    "type": "boolean",
    "description": "True while the collection refuses writes, because it is being deleted or gets another kind.",
  ]
  private static func schema(orNull isOptional: Bool) -> JSON {
    [
      "type": .array((isOptional ? ["object", "boolean", "null"] : ["object", "boolean"]).map { .string($0) }),
      "description": "A JSON Schema (2020-12) of the data of a list's elements, or of a map's values.",
    ]
  }

  private static var listing: RouteDescription {
    .administration(
      "listCollections",
      parameters: [.ifMatchOfRead, .ifNoneMatch],
      responses: [
        .shown(
          .schema(["items": .arraySchema(of: .reference("CollectionDeclaration"))]),
          fields: RouteField.validators
        ),
        .unmodified,
      ],
      schemas: schemas
    )
  }

  private static var showing: RouteDescription {
    .administration(
      "getCollection",
      parameters: [nameParameter, .ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(.reference("CollectionDeclaration"), fields: RouteField.validators), .unmodified],
      problems: [.notFound],
      schemas: schemas
    )
  }

  private static func limit(_ range: ClosedRange<Int>) -> JSON {
    ["type": ["integer", "null"], "minimum": JSON(range.lowerBound), "maximum": JSON(range.upperBound)]
  }

  private static var declaring: RouteDescription {
    let quota: JSON = [
      "type": ["object", "null"],
      "properties": [
        "elements": limit(DeclaredCollection.Bounds.elements), "bytes": limit(DeclaredCollection.Bounds.bytes),
      ],
      "additionalProperties": false,
    ]
    let body = JSON.closedSchema(
      ["kind": ["enum": ["list", "map"]]],
      optional: [
        "name": ["type": "string"], "description": ["type": ["string", "null"], "maxLength": 1024],
        "schema": schema(orNull: true), "quota": quota, "access": ["enum": ["readWrite", "readOnly", nil]],
        "deleting": ["description": "Ignored, so that a client can send back a declaration that it has read."],
      ]
    )
    return .administration(
      "putCollection",
      parameters: [nameParameter] + RouteParameter.writing,
      body: RouteBody(body),
      responses: [
        RouteResponse(
          .created,
          "The declaration.",
          fields: [.etag, .cacheControl, .location, .idempotencyReplayed],
          json: .reference("CollectionDeclaration")
        ),
        RouteResponse(
          .ok,
          "The changed declaration.",
          fields: [.etag, .cacheControl, .idempotencyReplayed],
          json: .reference("CollectionDeclaration")
        ),
      ],
      problems: [.conflict, .preconditionFailed, .validationFailed, .quotaExceeded],
      schemas: schemas
    )
  }

  private static var deletion: RouteDescription {
    .administration(
      "deleteCollection",
      parameters: [
        nameParameter,
        RouteParameter(
          "erase",
          in: .query,
          "Also erases the data of all users in the collection. Without it, a collection with data is not deleted.",
          schema: ["type": "boolean"]
        ),
      ] + RouteParameter.writing,
      responses: [.done],
      problems: [.notFound, .conflict, .preconditionFailed]
    )
  }
}
