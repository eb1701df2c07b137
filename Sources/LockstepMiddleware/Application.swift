import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging

/// Passes each request to its handler and the response back: client address → rate limit →
/// route → body size and coding → origin → query → handler → problem → CORS → compression → metrics
/// → access log.
///
/// It is a class, because each parked request holds it. A struct would be copied for each of them.
public final class Application: Sendable {
  let tables: RouteTables
  private let cors: CORSPolicy
  private let origins: OriginCheck
  private let limits: Limits
  private let proxies: TrustedProxies?
  /// Whether all requests are the administrator's, because they arrive on the socket of the operator's commands.
  private let isForOperator: Bool
  /// Nil: there are no other nodes.
  private let nodes: NodeCredentials?
  private let ids: RequestIDs
  private let rates: AddressRates?
  private let recorder: RequestRecorder
  private let logger: Logger

  package init(
    tables: RouteTables,
    cors: CORSPolicy,
    origins: OriginCheck,
    limits: Limits,
    proxies: TrustedProxies?,
    isForOperator: Bool = false,
    nodes: NodeCredentials? = nil,
    ids: RequestIDs,
    rates: AddressRates?,
    metrics: RequestMetrics.Shard,
    accessLog: AccessLog?,
    logger: Logger,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.tables = tables
    self.cors = cors
    self.origins = origins
    self.limits = limits
    self.proxies = proxies
    self.isForOperator = isForOperator
    self.nodes = nodes
    self.ids = ids
    self.rates = rates
    recorder = RequestRecorder(
      metrics: metrics,
      accessLog: accessLog,
      router: tables.fixed.router,
      monotonic: monotonic
    )
    self.logger = logger
  }

  /// Responds to a request. Every request gets a response.
  public func respond(to request: Request) -> HandlerResult {
    // The one copy that changes: the address and the id here, the parameters when there is a route.
    var request = request
    if isForOperator {
      request.isFromOperator = true
    } else if let client = nodes?.client(of: request.head) {
      (request.peer, request.isForwarded) = (client, true)
    } else if let proxies {
      request = proxies.named(request)
    }
    request.id = RequestIDs.given(by: request.head) ?? (recorder.accessLog == nil ? nil : ids.next())
    return limited(&request)
  }

  /// Applies the rate limit of the client's address.
  private func limited(_ request: inout Request) -> HandlerResult {
    // The node that has forwarded a request has counted it.
    guard let rates, !request.isForwarded else { return routed(&request) }
    let (head, peer, arrival) = (request.head, request.peer, request.arrival)
    do {
      return try rates.respond(to: head, of: peer, at: arrival) { routed(&request) }
    } catch {
      return finished(failure(error, request, of: nil), to: request, route: nil)
    }
  }

  private func routed(_ request: inout Request) -> HandlerResult {
    var route: MatchedRoute?
    do {
      return finished(try result(for: &request, &route), to: request, route: route)
    } catch {
      return finished(failure(error, request, of: route), to: request, route: route)
    }
  }

  /// The address of a request's client, as trusted proxies report it.
  package func client(of head: RequestHead, from peer: PeerAddress) -> PeerAddress {
    nodes?.client(of: head) ?? proxies?.client(of: head, from: peer) ?? peer
  }

  package func note(_ refusal: ServerRefusal) {
    recorder.metrics.record(refusal: refusal.kind.status)
    recorder.accessLog?.record(refusal)
  }

  private func finished(_ result: HandlerResult, to request: Request, route: MatchedRoute?) -> HandlerResult {
    // Nearly every result is already a response, which needs no copy of the request.
    if case .response(let response) = result { return finished(response, to: request, route: route) }
    let finishing = ResponseFinishing(application: self, request: request, route: route)
    if case .parked(let parked) = result { return .parked(FinishedRequest(parked, finishing)) }
    return result.transformed(by: finishing)
  }

  func finishedStream(_ response: Response, to request: Request, route: MatchedRoute?) -> Response {
    var response = response
    guard !request.isForwarded else {
      recorder.record(response, to: request, route: route)
      return response
    }
    if cors.isOn { response.fields.append(contentsOf: cors.fields(forOrigin: request.head[.origin])) }
    if let id = request.id { response.fields.append(.xRequestID, id) }
    recorder.record(response, to: request, route: route)
    return response
  }

  func finished(_ response: Response, to request: Request, route: MatchedRoute?) -> HandlerResult {
    // The node that has forwarded the request adds these fields, and compresses.
    guard !request.isForwarded else {
      recorder.record(response, to: request, route: route)
      return .response(response)
    }
    var (response, isToCompress) = dressed(response, for: request.head)
    if let id = request.id { response.fields.append(.xRequestID, id) }
    guard isToCompress else {
      recorder.record(response, to: request, route: route)
      return .response(response)
    }
    return .async { [recorder, response] in
      let response = await Compression.compressed(response)
      recorder.record(response, to: request, route: route)
      return .response(response)
    }
  }

  /// Finishes a response that may be sent again. It is counted and logged each time.
  func finished(_ response: Response, _ validity: any ResponseValidity, to request: Request, route: MatchedRoute?)
    -> HandlerResult
  {
    let (dressed, isToCompress) = dressed(response, for: request.head)
    guard isToCompress else { return recorded(dressed, validity, to: request, route: route) }
    return .async { [self] in recorded(await Compression.compressed(dressed), validity, to: request, route: route) }
  }

  private func recorded(
    _ response: Response,
    _ validity: any ResponseValidity,
    to request: Request,
    route: MatchedRoute?
  )
    -> HandlerResult
  {
    recorder.record(response, to: request, route: route)
    guard recorder.accessLog == nil else {
      return .reusable(response, LoggedValidity(validity, recorder, request, response, route: route, ids: ids))
    }
    var named = response
    // This id is from the client, and the same each time: only equal requests reuse the response.
    if let id = request.id { named.fields.append(.xRequestID, id) }
    return .reusable(named, CountedValidity(validity, recorder, response.status, route: route))
  }

  /// The response with the fields of CORS and compression, and whether to compress its body.
  private func dressed(_ response: Response, for head: RequestHead) -> (Response, isToCompress: Bool) {
    // A 304 has the same `Vary` field as the full response (RFC 9110, 15.4.5).
    let isUnmodified = response.status == .notModified
    let canBeCompressed = Compression.applies(to: response)
    guard cors.isOn || canBeCompressed || isUnmodified else { return (response, false) }
    var response = response
    if isUnmodified { response.fields = Compression.fieldsOfUnmodified(response.fields, for: head) }
    if cors.isOn { response.fields.append(contentsOf: cors.fields(forOrigin: head[.origin])) }
    if canBeCompressed || isUnmodified { response.fields.append(.vary, "Accept-Encoding") }
    return (response, canBeCompressed && ContentCoding.preferred(by: head) == .gzip)
  }

  /// The result of the route's handler. Sets `route` once the route is known.
  private func result(for request: inout Request, _ route: inout MatchedRoute?) throws -> HandlerResult {
    let (match, table) = try tables.match(request.head)
    switch match {
    case .route(let index, let parameters):
      let matched = table.matched[index]
      route = matched
      let limit = matched.route.bodyLimit
      if let problem = tooLarge(request.head, limit ?? .max) ?? coded(request.head) { throw problem }
      if !request.isForwarded { try origins.check(request.head) }
      try table.queries.check(request.head, of: index)
      request.parameters = parameters
      if let limit { request = request.limited(toBody: limit) }
      return try matched.route.handler(request)
    case .options(let allow):
      if let problem = tooLarge(request.head) { throw problem }
      return .response(options(allow, for: request.head))
    case .notImplemented(let allow):
      throw tooLarge(request.head) ?? notImplemented(allow, for: request.head)
    case .methodNotAllowed(let allow):
      throw tooLarge(request.head) ?? methodNotAllowed(allow, for: request.head)
    case .notFound:
      throw tooLarge(request.head)
        ?? Problem(
          .notFound,
          detail: "There is nothing at \(request.head.pathWithoutSecrets). GET / lists where to start."
        )
    }
  }

  /// The problem for a body whose announced length is too large. The body is not read.
  private func tooLarge(_ head: RequestHead, _ limit: Int = .max) -> Problem? {
    let limit = min(limit, limits.body)
    guard case .length(let length) = head.body, length > limit else { return nil }
    return .bodyTooLarge(limit)
  }

  /// The problem for a body with a content coding, because none is supported.
  private func coded(_ head: RequestHead) -> Problem? {
    guard head.body != .none, head.has(.contentEncoding) else { return nil }
    guard let coding = head.list(.contentEncoding).first(where: { $0.lowercased() != "identity" }) else { return nil }
    return Problem(
      .unsupportedMediaType,
      detail: "The body has the coding \(coding), and none is supported. Send it without Content-Encoding.",
      fields: HeaderFields([.acceptEncoding: "identity"])
    )
  }

  func failure(_ error: any Error, _ request: Request, of route: MatchedRoute?) -> Response {
    if let problem = error as? Problem ?? Problem.describing(error) { return problem.response }
    let pattern = route?.route.pattern ?? ""
    let id = request.id ?? ids.next()
    logger.log(
      .error,
      "a request failed",
      ["route": .string(pattern), "error": .string("\(error)"), "requestId": .string(id)]
    )
    var problem = Problem(.internal)
    // If the request has an id, `finished` adds it later.
    if request.id == nil { problem.fields.append(.xRequestID, id) }
    return problem.response
  }

  private func options(_ allow: String, for head: RequestHead) -> Response {
    var fields = HeaderFields([.allow: allow])
    if let preflight = cors.preflightFields(for: head, allow: allow) { fields.append(contentsOf: preflight) }
    return Response(status: .noContent, fields: fields)
  }

  private func notImplemented(_ allow: String, for head: RequestHead) -> Problem {
    Problem(.notImplemented, detail: "This server does not support the method \(head.method.name), only \(allow).")
  }

  private func methodNotAllowed(_ allow: String, for head: RequestHead) -> Problem {
    Problem(
      .methodNotAllowed,
      detail:
        "\(head.path.isEmpty ? "The server" : head.pathWithoutSecrets) does not support \(head.method.name), only "
        + "\(allow).",
      fields: HeaderFields([.allow: allow])
    )
  }
}
