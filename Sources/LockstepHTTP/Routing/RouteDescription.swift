import LockstepJSON

/// The OpenAPI description of a route. It has no effect on requests.
public struct RouteDescription: Sendable {
  /// The clients that may use a route.
  package enum Access: Sendable {
    case anybody
    case user
    /// Any client gets a part of the response; a logged-in user gets all of it.
    case anybodyOrUser
    case administrator
  }

  /// The `operationId`, such as `putFavorite`: letters and digits. If several routes have the same
  /// one, the later ones get numbers.
  package var name: String
  /// The tag under which the route is listed.
  package var part: String
  package var access: Access
  package var parameters: [RouteParameter]
  package var body: RouteBody?
  /// All responses except problems.
  package var responses: [RouteResponse]
  /// The problems of this route. The server itself may respond with others to any route.
  package var problems: Set<ProblemKind>
  /// Schemas that the members above refer to by name. A name has one schema for all routes.
  package var schemas: [String: JSON]

  package init(
    _ name: String,
    part: String,
    access: Access = .anybody,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    responses: [RouteResponse],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) {
    self.name = name
    self.part = part
    self.access = access
    self.parameters = parameters
    self.body = body
    self.responses = responses
    // Any route that takes If-Match may respond with 412.
    self.problems = parameters.contains { $0.name == "If-Match" } ? problems.union([.preconditionFailed]) : problems
    self.schemas = schemas
  }
}

/// A parameter of a route: required in the path, optional elsewhere.
package struct RouteParameter: Sendable {
  package enum Place: String, Sendable {
    case path
    case query
    case header
  }

  package let name: String
  package let place: Place
  package let summary: String
  package let schema: JSON
  /// The name of a description that several routes share; nil if no other route has it.
  package let sharedName: String?

  package init(_ name: String, in place: Place, _ summary: String, schema: JSON, sharedName: String? = nil) {
    self.name = name
    self.place = place
    self.summary = summary
    self.schema = schema
    self.sharedName = sharedName
  }
}

package struct RouteBody: Sendable {
  package let content: [(type: String, schema: JSON)]
  package let isRequired: Bool

  package init(_ content: [(type: String, schema: JSON)], isRequired: Bool = true) {
    self.content = content
    self.isRequired = isRequired
  }

  package init(_ schema: JSON, isRequired: Bool = true) {
    self.init([("application/json", schema)], isRequired: isRequired)
  }
}

package struct RouteField: Sendable {
  package let name: String
  package let summary: String
  package let schema: JSON
  package private(set) var isAlways: Bool

  package init(_ name: String, _ summary: String, schema: JSON = ["type": "string"], isAlways: Bool = true) {
    self.name = name
    self.summary = summary
    self.schema = schema
    self.isAlways = isAlways
  }

  package var sometimes: RouteField {
    var field = self
    field.isAlways = false
    return field
  }
}

/// A response that is not a problem.
package struct RouteResponse: Sendable {
  package let status: Status
  /// The case in which the server sends it.
  package let summary: String
  /// Its header fields, without those that any response may have.
  package let fields: [RouteField]
  /// The JSON Schemas of its body by media type; empty without a body.
  package let content: [(type: String, schema: JSON)]
  /// The name of a response that several routes share. Only responses without a body are shared.
  package let sharedName: String?

  package init(
    _ status: Status,
    _ summary: String,
    fields: [RouteField] = [],
    content: [(type: String, schema: JSON)] = [],
    sharedName: String? = nil
  ) {
    self.status = status
    self.summary = summary
    self.fields = fields
    self.content = content
    self.sharedName = sharedName
  }

  package init(_ status: Status, _ summary: String, fields: [RouteField] = [], json: JSON) {
    self.init(status, summary, fields: fields, content: [("application/json", json)])
  }
}
