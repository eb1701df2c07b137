import LockstepJSON

/// What a route takes and what it answers, said beside its handler for those who don't read the code: a server's OpenAPI
/// description is made of it.
///
/// It changes nothing about how requests are answered.
public struct RouteDescription: Sendable {
  /// Who may use a route.
  public enum Access: Sendable {
    /// Whoever there is.
    case anybody
    /// Who is logged in.
    case user
    /// Some of what is there is for anybody, the rest for who is logged in.
    case anybodyOrUser
    /// Who runs the server.
    case administrator
  }

  /// A name of letters that no other route has, as code would call it: `addFavorite`.
  public var name: String
  /// The part of the service that it belongs to.
  public var part: String
  /// Who may use it.
  public var access: Access
  /// The parameters of path, query and header fields.
  public var parameters: [RouteParameter]
  /// The body, where it takes one.
  public var body: RouteBody?
  /// Every answer that isn't a problem.
  public var answers: [RouteAnswer]
  /// The problems that have to do with the route. Any other may come from the engine.
  public var problems: Set<ProblemKind>
  /// Schemas that the others refer to by name. One of the same name is the same for every route.
  public var schemas: [String: JSON]

  /// A description of its parts.
  public init(
    _ name: String,
    part: String,
    access: Access = .anybody,
    parameters: [RouteParameter] = [],
    body: RouteBody? = nil,
    answers: [RouteAnswer],
    problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) {
    self.name = name
    self.part = part
    self.access = access
    self.parameters = parameters
    self.body = body
    self.answers = answers
    self.problems = problems
    self.schemas = schemas
  }
}

/// A parameter of a route.
public struct RouteParameter: Sendable {
  /// Where a parameter is.
  public enum Place: String, Sendable {
    case path
    case query
    case header
  }

  /// Its name.
  public let name: String
  /// Where it is.
  public let place: Place
  /// What it's for.
  public let summary: String
  /// The JSON Schema of its value.
  public let schema: JSON
  /// A name by which all routes share its description; nil where it's the route's alone.
  public let sharedName: String?

  /// A parameter. One in the path must be there, any other may be.
  public init(_ name: String, in place: Place, _ summary: String, schema: JSON, sharedName: String? = nil) {
    self.name = name
    self.place = place
    self.summary = summary
    self.schema = schema
    self.sharedName = sharedName
  }
}

/// What a route takes as its body.
public struct RouteBody: Sendable {
  /// The JSON Schemas, by media types.
  public let content: [(type: String, schema: JSON)]
  /// Whether there must be one.
  public let isRequired: Bool

  /// A body of one of these media types.
  public init(_ content: [(type: String, schema: JSON)], isRequired: Bool = true) {
    self.content = content
    self.isRequired = isRequired
  }

  /// A body of JSON.
  public init(_ schema: JSON, isRequired: Bool = true) {
    self.init([("application/json", schema)], isRequired: isRequired)
  }
}

/// A header field of an answer.
public struct RouteField: Sendable {
  /// Its name.
  public let name: String
  /// What it says.
  public let summary: String
  /// The JSON Schema of its value.
  public let schema: JSON
  /// Whether it's always there.
  public let isAlways: Bool

  /// A field.
  public init(_ name: String, _ summary: String, schema: JSON = ["type": "string"], isAlways: Bool = true) {
    self.name = name
    self.summary = summary
    self.schema = schema
    self.isAlways = isAlways
  }

  /// The same field where it may be missing.
  public var sometimes: RouteField { RouteField(name, summary, schema: schema, isAlways: false) }
}

/// An answer that isn't a problem.
public struct RouteAnswer: Sendable {
  /// Its status.
  public let status: Status
  /// When it's given, in a sentence.
  public let summary: String
  /// Its header fields, but for those that any message may have.
  public let fields: [RouteField]
  /// The JSON Schemas of its body, by media types; none where it has none.
  public let content: [(type: String, schema: JSON)]
  /// A name by which routes share its description; nil where it's the route's alone. Only what has no body is shared.
  public let sharedName: String?

  /// An answer.
  public init(
    _ status: Status,
    _ summary: String,
    fields: [RouteField] = [],
    content: [(type: String, schema: JSON)] = []
  ) {
    self.init(status, summary, fields: fields, content: content, sharedName: nil)
  }

  /// An answer without a body that several routes have. One of the same name is the same for all of them.
  public init(_ status: Status, _ summary: String, fields: [RouteField] = [], sharedName: String) {
    self.init(status, summary, fields: fields, content: [], sharedName: sharedName)
  }

  private init(
    _ status: Status,
    _ summary: String,
    fields: [RouteField],
    content: [(type: String, schema: JSON)],
    sharedName: String?
  ) {
    self.status = status
    self.summary = summary
    self.fields = fields
    self.content = content
    self.sharedName = sharedName
  }

  /// An answer of JSON.
  public init(_ status: Status, _ summary: String, fields: [RouteField] = [], json: JSON) {
    self.init(status, summary, fields: fields, content: [("application/json", json)])
  }
}
