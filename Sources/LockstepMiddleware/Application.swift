import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging

/// The way of every request, from the engine to its handler and back, in one place and in one order: who asks →
/// size → route → handler → problem, if there was one → CORS → compression → metrics → access log.
public struct Application: Sendable {
  let router: Router
  private let cors: CORSPolicy
  private let limits: Limits
  private let proxies: TrustedProxies?
  private let names: RequestNames
  private let rates: AddressRates?
  private let metrics: RequestMetrics.Shard
  private let accessLog: AccessLog?
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64

  package init(
    router: Router,
    cors: CORSPolicy,
    limits: Limits,
    proxies: TrustedProxies?,
    names: RequestNames,
    rates: AddressRates?,
    metrics: RequestMetrics.Shard,
    accessLog: AccessLog?,
    logger: Logger,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.router = router
    self.cors = cors
    self.limits = limits
    self.proxies = proxies
    self.names = names
    self.rates = rates
    self.metrics = metrics
    self.accessLog = accessLog
    self.logger = logger
    self.monotonic = monotonic
  }

  /// Answers a request. Whatever happens, there is an answer.
  public func respond(to request: Request) -> HandlerResult {
    // As a rule nothing of this is asked for, and the request needn't be touched.
    guard proxies != nil || accessLog != nil || request.head.has(.xRequestID) else { return answer(request) }
    var request = request
    if let proxies { request = proxies.named(request) }
    request.name = RequestNames.given(by: request.head) ?? (accessLog == nil ? nil : names.next())
    return answer(request)
  }

  private func answer(_ request: Request) -> HandlerResult {
    guard let rates else { return answerUnlimited(request) }
    do {
      return try rates.answer(request) { answerUnlimited(request) }
    } catch {
      return finished(failure(error, request, of: nil), to: request, route: nil)
    }
  }

  private func answerUnlimited(_ request: Request) -> HandlerResult {
    let (answer, route) = find(request)
    return finished(answer, to: request, route: route)
  }

  /// Counts and logs what the engine answered by itself.
  package func note(_ refusal: ServerRefusal) {
    metrics.record(refusal: refusal.kind.status)
    accessLog?.record(refusal)
  }

  private func finished(_ result: HandlerResult, to request: Request, route: Int?) -> HandlerResult {
    // Nearly every result is a response already, and needs no copy of the request.
    if case .response(let response) = result { return finished(response, to: request, route: route) }
    return result.transformed(by: ResponseFinishing(application: self, request: request, route: route))
  }

  func finishedStream(_ response: Response, to request: Request, route: Int?) -> Response {
    var response = response
    if cors.isOn { response.fields.append(contentsOf: cors.fields(for: request.head)) }
    if let name = request.name { response.fields.append(.xRequestID, name) }
    record(response, to: request, route: route)
    return response
  }

  func finished(_ response: Response, to request: Request, route: Int?) -> HandlerResult {
    var (response, isToCompress) = dressed(response, for: request.head)
    if let name = request.name { response.fields.append(.xRequestID, name) }
    guard isToCompress else {
      record(response, to: request, route: route)
      return .response(response)
    }
    return .async { [response] in
      let response = await Compression.compressed(response)
      record(response, to: request, route: route)
      return .response(response)
    }
  }

  /// The same for a response that may be given again as it is then: each time it's counted and logged.
  func finished(_ response: Response, _ premise: any ResponseValidity, to request: Request, route: Int?)
    -> HandlerResult
  {
    var (dressed, isToCompress) = dressed(response, for: request.head)
    if isToCompress {
      var response = response
      response.fields.append(contentsOf: premise.fields)
      return finished(response, to: request, route: route)
    }
    record(dressed, to: request, route: route)
    guard accessLog != nil else {
      // A name that the client has given is the same each time: it's what makes the requests the same.
      if let name = request.name { dressed.fields.append(.xRequestID, name) }
      return .reusable(
        dressed,
        RecordedValidity(premise) { [self, dressed] in record(dressed, to: request, cameAt: $0, route: route) }
      )
    }
    let named = NamedValidity(premise, request, names) { [self, dressed] in
      record(dressed, to: $0, cameAt: $1, route: route)
    }
    return .reusable(dressed, named)
  }

  /// The response with the fields that any may need, and whether its body is still to be compressed.
  private func dressed(_ response: Response, for head: RequestHead) -> (Response, isToCompress: Bool) {
    if response.status == .notModified { return (unmodified(response, for: head), false) }
    let canBeCompressed = Compression.applies(to: response)
    guard cors.isOn || canBeCompressed else { return (response, false) }
    var response = response
    if cors.isOn { response.fields.append(contentsOf: cors.fields(for: head)) }
    if canBeCompressed { response.fields.append(.vary, "Accept-Encoding") }
    return (response, canBeCompressed && Compression.isWanted(by: head))
  }

  /// The answer to who has it already: like that with the body, it depends on the coding (RFC 9110, 15.4.5).
  private func unmodified(_ response: Response, for head: RequestHead) -> Response {
    var response = response
    if cors.isOn { response.fields.append(contentsOf: cors.fields(for: head)) }
    response.fields.append(.vary, "Accept-Encoding")
    return response
  }

  private func find(_ request: Request) -> (answer: HandlerResult, route: Int?) {
    var route: Int?
    do {
      switch try router.match(request.head) {
      case .route(let index, let parameters):
        route = index
        let limit = router.routes[index].bodyLimit
        if let problem = tooLarge(request.head, limit ?? .max) ?? coded(request.head) { throw problem }
        var request = request
        request.parameters = parameters
        if let limit { request = request.limited(toBody: limit) }
        return (try router.routes[index].handler(request), index)
      case .options(let allow):
        if let problem = tooLarge(request.head) { throw problem }
        return (.response(options(allow, for: request.head)), nil)
      case .notImplemented(let allow):
        throw tooLarge(request.head) ?? notImplemented(allow, for: request.head)
      case .methodNotAllowed(let allow):
        throw tooLarge(request.head) ?? methodNotAllowed(allow, for: request.head)
      case .notFound:
        throw tooLarge(request.head)
          ?? Problem(.notFound, detail: "There is nothing at \(request.head.path). GET / lists where to begin.")
      }
    } catch {
      return (.response(failure(error, request, of: route)), route)
    }
  }

  /// The problem of a body that is too large, when the head says so: nothing of it is read then.
  private func tooLarge(_ head: RequestHead, _ limit: Int = .max) -> Problem? {
    let limit = min(limit, limits.body)
    guard case .length(let length) = head.body, length > limit else { return nil }
    return .bodyTooLarge(limit)
  }

  /// The problem of a body that has a coding to be taken off: there is none that is.
  private func coded(_ head: RequestHead) -> Problem? {
    guard head.body != .none, head.has(.contentEncoding) else { return nil }
    guard let coding = head.list(.contentEncoding).first(where: { $0.lowercased() != "identity" }) else { return nil }
    var problem = Problem(
      .unsupportedMediaType,
      detail: "The body comes in the coding \(coding), and none is taken: send it as it is, without Content-Encoding."
    )
    problem.fields.append(.acceptEncoding, "identity")
    return problem
  }

  func failure(_ error: any Error, _ request: Request, of route: Int?) -> Response {
    if let problem = error as? Problem ?? Problem.telling(of: error) { return problem.response }
    let pattern = route.map { router.routes[$0].pattern } ?? ""
    let name = request.name ?? names.next()
    logger.log(
      .error,
      "a request failed",
      ["route": .string(pattern), "error": .string("\(error)"), "requestId": .string(name)]
    )
    var problem = Problem(.internal)
    // Otherwise it's added to any answer.
    if request.name == nil { problem.fields.append(.xRequestID, name) }
    return problem.response
  }

  private func record(_ response: Response, to request: Request, cameAt arrival: Int64? = nil, route: Int?) {
    let duration = monotonic() - (arrival ?? request.arrival)
    metrics.record(route: route, status: response.status, nanoseconds: duration)
    accessLog?.record(request, response, nanoseconds: duration)
  }

  private func options(_ allow: String, for head: RequestHead) -> Response {
    var fields = HeaderFields()
    fields.append(.allow, allow)
    if let preflight = cors.preflightFields(for: head, allow: allow) { fields.append(contentsOf: preflight) }
    return Response(status: .noContent, fields: fields)
  }

  private func notImplemented(_ allow: String, for head: RequestHead) -> Problem {
    Problem(.notImplemented, detail: "Nothing on this server knows the method \(head.method.name), only \(allow).")
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
