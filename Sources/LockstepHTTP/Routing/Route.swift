/// What answers a request: at once, or later where it has to wait for something. A `Problem` it throws is told to the
/// client as it is; any other error as `internal`.
///
/// It runs on the event loop of its connection, so it must not block.
public typealias Handler = @Sendable (Request) throws -> HandlerResult

/// A method and a path pattern, and what answers there.
public struct Route: Sendable {
  /// The method. A `GET` route answers `HEAD` too.
  public let method: Method
  /// The path, in which `{name}` stands for one part that isn't empty: `/problems/{slug}`.
  public let pattern: String
  /// What it's for, in one sentence.
  public let summary: String
  /// The largest body it takes, where that is less than the server's limit. Past it: 413.
  public let bodyLimit: Int?
  /// What answers.
  public let handler: Handler
  /// What it takes and answers, for those who read about it; nil where nothing is said.
  /// Made anew whenever it's asked for.
  public var description: RouteDescription? { describe?() }
  private var describe: (@Sendable () -> RouteDescription)?

  /// A route of its parts.
  public init(
    _ method: Method,
    _ pattern: String,
    summary: String,
    bodyLimit: Int? = nil,
    handler: @escaping Handler
  ) {
    self.method = method
    self.pattern = pattern
    self.summary = summary
    self.bodyLimit = bodyLimit
    self.handler = handler
  }

  /// A route whose handler always has to wait for something: see `HandlerResult.later`.
  public init(
    _ method: Method,
    _ pattern: String,
    summary: String,
    handler: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.init(method, pattern, summary: summary) { request in .later { try await handler(request) } }
  }

  /// The same route, described. The description is made when somebody wants to read it, which few do: a start needn't wait for it.
  public func described(_ description: @autoclosure @escaping @Sendable () -> RouteDescription) -> Route {
    var route = self
    route.describe = description
    return route
  }
}

/// What the `{…}` of a pattern stand for in a path.
public struct PathParameters: Sendable {
  private var values: [(name: String, value: String)] = []

  /// No parameters.
  public init() {}

  init(_ values: [(name: String, value: String)]) { self.values = values }

  /// The decoded value of a parameter, or nil when the pattern has none of that name.
  public subscript(_ name: String) -> String? { values.first { $0.name == name }?.value }
}
