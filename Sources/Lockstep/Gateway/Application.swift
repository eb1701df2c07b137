import HTTP
import HTTPServer
import JSON

/// The way of every request, from the engine to its handler and back, in one place and in one order:
/// size → route → handler → problem, if there was one → CORS → compression → metrics → access log.
public struct Application: Sendable {
  private let router: Router
  private let cors: CORSPolicy
  private let limits: Limits
  private let metrics: RequestMetrics.Shard
  private let accessLog: AccessLog?
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64

  init(
    router: Router,
    cors: CORSPolicy,
    limits: Limits,
    metrics: RequestMetrics.Shard,
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
    var (response, route) = await answer(request)
    if cors.isOn { response.fields.append(contentsOf: cors.fields(for: request.head)) }
    if Compression.isWorthwhile(for: response) {
      response = await Compression.apply(to: response, for: request.head)
    }
    record(response, to: request, route: route)
    return response
  }

  private func answer(_ request: Request) async -> (Response, route: Int?) {
    switch find(request) {
    case .answer(let response, let route):
      return (response, route)
    case .handler(let route, let request):
      do {
        return (try await router.routes[route].handler(request), route)
      } catch {
        return (failure(error, of: route), route)
      }
    }
  }

  /// Who answers a request.
  private enum Found {
    case handler(route: Int, Request)
    /// Nobody needs to be asked.
    case answer(Response, route: Int?)
  }

  @inline(never)
  private func find(_ request: Request) -> Found {
    do throws(Problem) {
      let match = try router.match(request.head)
      if let problem = tooLarge(request.head) {
        if case .route(let route, _) = match { return .answer(problem.response, route: route) }
        throw problem
      }
      switch match {
      case .route(let route, let parameters):
        var request = request
        request.parameters = parameters
        return .handler(route: route, request)
      case .options(let allow):
        return .answer(options(allow, for: request.head), route: nil)
      case .methodNotAllowed(let allow):
        throw methodNotAllowed(allow, for: request.head)
      case .notFound:
        throw Problem(.notFound, detail: "There is nothing at \(request.head.path). GET / lists where to begin.")
      }
    } catch {
      return .answer(error.response, route: nil)
    }
  }

  /// The problem of a body that is too large, when the head says so: nothing of it is read then.
  private func tooLarge(_ head: RequestHead) -> Problem? {
    guard case .length(let length) = head.body, length > limits.body else { return nil }
    return Problem(.payloadTooLarge, detail: "The body is larger than \(limits.body) bytes.")
  }

  @inline(never)
  private func failure(_ error: any Error, of route: Int) -> Response {
    if let problem = error as? Problem { return problem.response }
    logger.log(
      .error,
      "a request failed",
      ["route": .string(router.routes[route].pattern), "error": .string("\(error)")]
    )
    return Problem(.internal).response
  }

  @inline(never)
  private func record(_ response: Response, to request: Request, route: Int?) {
    let duration = monotonic() - request.arrival
    metrics.record(route: route, status: response.status, nanoseconds: duration)
    accessLog?.record(request, response, nanoseconds: duration)
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
      detail: "\(head.path.isEmpty ? "The server" : head.path) doesn't answer \(head.method.name), only \(allow)."
    )
    problem.fields.append(.allow, allow)
    return problem
  }
}
