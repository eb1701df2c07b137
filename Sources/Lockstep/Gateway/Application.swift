import HTTP
import HTTPServer
import JSON

/// The way of every request, from the engine to its handler and back, in one place and in one order:
/// size → route → handler → problem, if there was one → CORS → compression → metrics → access log.
public struct Application: Sendable {
  private let router: Router
  private let cors: CORSPolicy
  private let limits: Limits
  private let metrics: RequestMetrics
  private let accessLog: AccessLog?
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64

  init(
    router: Router,
    cors: CORSPolicy,
    limits: Limits,
    metrics: RequestMetrics,
    accessLog: AccessLog?,
    logger: Logger,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.router = router
    self.cors = cors
    self.limits = limits
    self.metrics = metrics
    self.accessLog = accessLog
    self.logger = logger
    self.monotonic = monotonic
  }

  /// Answers a request. Whatever happens, there is an answer.
  public func respond(to request: Request) async -> Response {
    var route: Int?
    var response: Response
    do {
      response = try await answer(request, route: &route)
    } catch let problem as Problem {
      response = problem.response
    } catch {
      logger.log(
        .error,
        "a request failed",
        ["route": .string(route.map { router.routes[$0].pattern } ?? ""), "error": .string("\(error)")]
      )
      response = Problem(.internal).response
    }
    if cors.isOn { response.fields.append(contentsOf: cors.fields(for: request.head)) }
    if Compression.isWorthwhile(for: response) {
      response = await Compression.apply(to: response, for: request.head)
    }
    let duration = monotonic() - request.arrival
    metrics.record(route: route, status: response.status, nanoseconds: duration, loop: request.loop)
    accessLog?.record(request, response, nanoseconds: duration)
    return response
  }

  private func answer(_ request: Request, route: inout Int?) async throws -> Response {
    let match = try router.match(request.head)
    if case .route(let index, _) = match { route = index }
    // Known from the head alone, so nothing of the body is read.
    if case .length(let length) = request.head.body, length > limits.body {
      throw Problem(.payloadTooLarge, detail: "The body is larger than \(limits.body) bytes.")
    }
    switch match {
    case .route(let index, let parameters):
      var request = request
      request.parameters = parameters
      return try await router.routes[index].handler(request)
    case .options(let allow):
      return options(allow, for: request.head)
    case .methodNotAllowed(let allow):
      throw methodNotAllowed(allow, for: request.head)
    case .notFound:
      throw Problem(.notFound, detail: "There is nothing at \(request.head.path). GET / lists where to begin.")
    }
  }

  private func options(_ allow: String, for head: RequestHead) -> Response {
    var fields = HeaderFields()
    fields.append(.allow, allow)
    if let preflight = cors.preflightFields(for: head, allow: allow) { fields.append(contentsOf: preflight) }
    return Response(status: .noContent, fields: fields)
  }

  private func methodNotAllowed(_ allow: String, for head: RequestHead) -> Problem {
    var problem = Problem(
      .methodNotAllowed,
      detail: "\(head.path) doesn't answer \(head.method.name), only \(allow)."
    )
    problem.fields.append(.allow, allow)
    return problem
  }
}
