import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync

/// `/v1/admin/tokens`: the service tokens.
package struct ServiceTokenRoutes: Sendable {
  private static let pattern = "/v1/admin/tokens"
  private static let longestName = 100
  /// The longest life of a token, in seconds: a hundred years.
  private static let longestLife: Int64 = 100 * 366 * 86_400

  private let gate: AdministratorGate
  private let ledger: AccountsLedger
  private var tokens: ServiceTokens { gate.tokens }

  package init(_ gate: AdministratorGate, _ ledger: AccountsLedger) {
    self.gate = gate
    self.ledger = ledger
  }

  package var routes: [Route] {
    let limit = AuthenticationRoutes.bodyLimit
    return [
      Route(.get, Self.pattern, summary: "Lists the service tokens.") { request in
        try gate.admit(request, .read) { _ in
          let items = tokens.all.map { Self.format.encode($0) }
          return .response(
            try PrivateDocument(["items": .array(items)]).response(Preconditions(of: request.head))
          )
        }
      }
      .described(Self.listing),
      Route(.post, Self.pattern, summary: "Creates a service token.", bodyLimit: limit) { request in
        try gate.admit(request, .admin) { agent in try request.withBody { try create(request, $0, by: agent) } }
      }
      .described(Self.creation),
      Route(.get, "\(Self.pattern)/{id}", summary: "Shows a service token, without its secret.") { request in
        try gate.admit(request, .read) { _ in
          guard let token = tokens.token(id: Self.id(in: request)) else {
            throw Problem(AccountsError.noSuchToken)
          }
          return .response(try Self.document(token).response(Preconditions(of: request.head)))
        }
      }
      .described(Self.showing),
      Route(.delete, "\(Self.pattern)/{id}", summary: "Deletes a service token. It stops working at once.") { request in
        try gate.admit(request, .admin) { agent in try delete(request, by: agent) }
      }
      .described(Self.deletion),
    ]
  }

  private static let format = ValueFormat<ServiceToken>(
    .member("id", .uuid, \.id),
    .member("name", .text, \.name),
    .member("scopes", .list(of: .text(oneOf: ServiceScope.allCases.map(\.rawValue)))) { token in
      ServiceScope.allCases.filter(token.scopes.contains).map(\.rawValue)
    },
    .member("createdAt", .time, \.createdAt),
    .optional("expiresAt", .time, \.expiresAt)
  )

  /// The id in the path, in lower case, as the store has it.
  private static func id(in request: Request) -> String { (request.parameters["id"] ?? "").lowercased() }

  private static func document(_ token: ServiceToken) -> PrivateDocument { PrivateDocument(format.encode(token)) }

  private func create(_ request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    var reader = PayloadReader(try JSON(readingBodyOf: request, body))
    let name = Self.name(&reader)
    let scopes = Self.scopes(&reader)
    let lifetime = Self.lifetime(&reader)
    try reader.finishProblem()
    let key = try IdempotencyKey(of: request, body: body).map { AccountsLedger.Key(key: $0, owner: agent.keyOwner) }
    return .making(Problem.init(accounts:)) {
      Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            try tokens.prepareCreation(name: name, scopes: scopes, lifetimeSeconds: lifetime)
          },
          committed: {
            tokens.add($0)
            gate.log("create token", $0.token.id, agent.name)
          },
          response: { created in
            (StoredResponse(Self.created(created)), recorded: StoredResponse(Self.repeated(created).response))
          },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  /// The response with a new token, the only one that has its text.
  private static func created(_ created: ServiceTokens.Created) -> Response {
    let document = document(created.token)
    var shown = document.json.objectValue ?? JSONObject()
    shown["token"] = .string(created.text)
    var response = Response.json(.object(shown), status: .created, cacheControl: "no-store")
    response.fields.append(.etag, "\"\(document.tag)\"")
    response.fields.append(.location, "\(pattern)/\(created.token.id)")
    return response
  }

  /// The response to a repeated request. The store does not have the token's text.
  private static func repeated(_ created: ServiceTokens.Created) -> Problem {
    Problem(
      .conflict,
      detail: "An earlier request with this Idempotency-Key has created the token \(created.token.id). Its text was in "
        + "that response only. If you do not have it, delete the token and create another one.",
      members: [("id", .string(created.token.id))]
    )
  }

  private func delete(_ request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    let (id, preconditions) = (Self.id(in: request), try Preconditions(of: request.head))
    let key = try IdempotencyKey(of: request, body: []).map { AccountsLedger.Key(key: $0, owner: agent.keyOwner) }
    return .making(Problem.init(accounts:)) {
      Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { () throws(AccountsError) in
            tokens.prepareDeletion(of: id).checked { _ in
              if let token = tokens.token(id: id) { try Self.document(token).check(preconditions) }
            }
          },
          committed: {
            tokens.remove(id)
            gate.log("delete token", id, agent.name)
          },
          response: { (StoredResponse(.done), recorded: StoredResponse(.done)) },
          refusal: { $0.lastingRefusal(of: key) }
        )
      )
    }
  }

  // MARK: Members

  private static func name(_ reader: inout PayloadReader) -> String {
    guard let name = reader.text("name") else { return "" }
    let isVisible = name.unicodeScalars.allSatisfy(isVisible)
    if name.isEmpty || name.utf8.count > longestName || !isVisible || name.first == " " || name.last == " " {
      reader.add(
        "name",
        "It must have 1 to \(longestName) bytes, no invisible characters, and no space at its beginning or end."
      )
    }
    return name
  }

  /// Whether a name can have this character. With invisible ones, two names could look alike in the
  /// journal.
  private static func isVisible(_ character: Unicode.Scalar) -> Bool {
    if character.properties.isDefaultIgnorableCodePoint { return false }
    switch character.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
    case .spaceSeparator: return character == " "
    // A Braille pattern without dots looks like a space.
    default: return character != "\u{2800}"
    }
  }

  private static func scopes(_ reader: inout PayloadReader) -> Set<ServiceScope> {
    guard let value = reader.required("scopes") else { return [] }
    let all = ServiceScope.allCases.map(\.rawValue).joined(separator: ", ")
    guard let list = value.arrayValue, !list.isEmpty else {
      reader.add("scopes", "It must be an array with at least one of \(all).")
      return []
    }
    var scopes: Set<ServiceScope> = []
    for (index, element) in list.prefix(100).enumerated() {
      guard let scope = element.stringValue.flatMap(ServiceScope.init(rawValue:)) else {
        reader.add(["scopes", "\(index)"], "It must be one of \(all).")
        continue
      }
      scopes.insert(scope)
    }
    if list.count > 100 { reader.add("scopes", "It must have at most 100 elements.") }
    return scopes
  }

  private static func lifetime(_ reader: inout PayloadReader) -> Int64? {
    guard let value = reader.value("expiresIn"), !value.isNull else { return nil }
    guard let seconds = value.int64Value, (1...longestLife).contains(seconds) else {
      reader.add("expiresIn", "It must be a whole number of seconds, from 1 to \(longestLife).")
      return nil
    }
    return seconds
  }

  // MARK: Descriptions

  private static let id = RouteParameter("id", in: .path, "The id of a service token.", schema: .uuidSchema)
  private static let schemas = ["ServiceToken": format.schema]

  private static var listing: RouteDescription {
    .administration(
      "listTokens",
      parameters: [.ifMatchOfRead, .ifNoneMatch],
      responses: [
        .shown(.schema(["items": .arraySchema(of: .reference("ServiceToken"))]), fields: RouteField.validators),
        .unmodified,
      ],
      schemas: schemas
    )
  }

  private static var showing: RouteDescription {
    .administration(
      "getToken",
      parameters: [id, .ifMatchOfRead, .ifNoneMatch],
      responses: [.shown(.reference("ServiceToken"), fields: RouteField.validators), .unmodified],
      schemas: schemas
    )
  }

  private static var creation: RouteDescription {
    let scope: JSON = ["enum": .array(ServiceScope.allCases.map { .string($0.rawValue) })]
    let name: JSON = ["type": "string", "minLength": 1, "maxLength": JSON(longestName)]
    let body = JSON.closedSchema(
      ["name": name, "scopes": ["type": "array", "items": scope, "minItems": 1, "maxItems": 100]],
      optional: ["expiresIn": ["type": ["integer", "null"], "minimum": 1, "maximum": .integer(longestLife)]]
    )
    return .administration(
      "createToken",
      parameters: [.idempotencyKey],
      body: RouteBody(body),
      responses: [
        RouteResponse(
          .created,
          "The new token. Only this response has its text, in `token`.",
          fields: [.etag, .cacheControl, .location],
          json: ["allOf": [.reference("ServiceToken"), .schema(["token": .textSchema])]]
        )
      ],
      problems: [.conflict],
      schemas: schemas
    )
  }

  private static var deletion: RouteDescription {
    .administration(
      "deleteToken",
      parameters: [id] + RouteParameter.writing,
      responses: [.done],
      problems: [.conflict, .preconditionFailed]
    )
  }
}
