/// Handles a request. A `Problem` that it throws is the response. Any other error becomes the
/// problem `internal`. A handler runs on the event loop of the connection, so it must not block.
public typealias Handler = @Sendable (Request) throws -> HandlerResult

/// A method and a path pattern with their handler.
public struct Route: Sendable {
  /// A `GET` route also handles `HEAD`.
  package let method: Method
  /// The path. `{name}` matches one part that is not empty, as in `/problems/{slug}`.
  package let pattern: String
  /// The purpose of the route in one sentence.
  package let summary: String
  /// The largest body, if that is less than the server's limit. A larger one gets 413.
  package let bodyLimit: Int?
  package let handler: Handler
  /// The OpenAPI description, if there is one. Made on each access.
  package var description: RouteDescription? { describe?() }
  private var describe: (@Sendable () -> RouteDescription)?

  package init(_ method: Method, _ pattern: String, summary: String, bodyLimit: Int? = nil, handler: @escaping Handler)
  {
    self.method = method
    self.pattern = pattern
    self.summary = summary
    self.bodyLimit = bodyLimit
    self.handler = handler
  }

  /// A route with an asynchronous handler: see `HandlerResult.async`.
  package init(
    _ method: Method,
    _ pattern: String,
    summary: String,
    handler: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.init(method, pattern, summary: summary) { request in .async { .response(try await handler(request)) } }
  }

  /// The same route with another handler, which may call the present one.
  package func handled(
    by handler: @escaping @Sendable (Request, Handler) throws -> HandlerResult
  ) -> Route {
    var route = Route(method, pattern, summary: summary, bodyLimit: bodyLimit) { [inner = self.handler] request in
      try handler(request, inner)
    }
    route.describe = describe
    return route
  }

  package func described(_ description: @autoclosure @escaping @Sendable () -> RouteDescription) -> Route {
    var route = self
    route.describe = description
    return route
  }
}

/// The values of a pattern's `{…}` parameters in a path.
public struct PathParameters: Sendable {
  var values: [(name: String, value: String)] = []

  /// The decoded value of a parameter, or nil if the pattern has none with this name.
  public subscript(_ name: String) -> String? { values.first { $0.name == name }?.value }
}
