import LockstepHTTP
import Synchronization

/// Records finished requests in the metrics and the access log.
// A class, so that the many responses that may be sent again share one.
final class RequestRecorder: Sendable {
  let metrics: RequestMetrics.Shard
  let accessLog: AccessLog?
  private let router: Router
  private let monotonic: @Sendable () -> Int64

  init(
    metrics: RequestMetrics.Shard,
    accessLog: AccessLog?,
    router: Router,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.metrics = metrics
    self.accessLog = accessLog
    self.router = router
    self.monotonic = monotonic
  }

  func record(_ response: Response, to request: Request, route: MatchedRoute?) {
    let duration = monotonic() - request.arrival
    metrics.record(route: route, status: response.status, nanoseconds: duration)
    log(LoggedResponse(response, to: request), to: request, route, duration)
  }

  private func log(
    _ response: @autoclosure () -> LoggedResponse,
    to request: Request,
    _ route: MatchedRoute?,
    _ duration: Int64
  ) {
    guard let accessLog else { return }
    let path = route?.route.pattern ?? router.knownBeginning(of: request.head)
    accessLog.record(request, path, response(), nanoseconds: duration)
  }

  /// Records a response that is sent again.
  func record(_ response: LoggedResponse, to request: Request, route: MatchedRoute?) {
    let duration = monotonic() - request.arrival
    metrics.record(route: route, status: response.status, nanoseconds: duration)
    log(response, to: request, route, duration)
  }

  /// Records a response that is sent again, without an access log.
  func record(_ status: Status, route: MatchedRoute?, arrival: Int64) {
    metrics.record(route: route, status: status, nanoseconds: monotonic() - arrival)
  }
}

/// Counts each time that a response is sent again, if there is no access log.
final class CountedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let recorder: RequestRecorder
  private let status: Status
  private let route: MatchedRoute?

  init(_ validity: any ResponseValidity, _ recorder: RequestRecorder, _ status: Status, route: MatchedRoute?) {
    self.validity = validity
    self.recorder = recorder
    self.status = status
    self.route = route
  }

  func holds(at arrival: Int64) -> Bool {
    guard validity.holds(at: arrival) else { return false }
    recorder.record(status, route: route, arrival: arrival)
    return true
  }

  var fields: HeaderFields { validity.fields }
}

/// Counts and logs each time that a response is sent again. Each time has its own id.
final class LoggedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let recorder: RequestRecorder
  private let request: Request
  private let response: LoggedResponse
  private let route: MatchedRoute?
  private let ids: RequestIDs
  private let id: Mutex<String?>

  init(
    _ validity: any ResponseValidity,
    _ recorder: RequestRecorder,
    _ request: Request,
    _ response: Response,
    route: MatchedRoute?,
    ids: RequestIDs
  ) {
    self.validity = validity
    self.recorder = recorder
    self.request = request
    self.response = LoggedResponse(response, to: request)
    self.route = route
    self.ids = ids
    id = Mutex(request.id)
  }

  func holds(at arrival: Int64) -> Bool {
    guard validity.holds(at: arrival) else { return false }
    let request = request.again(at: arrival, id: RequestIDs.given(by: request.head) ?? ids.next())
    id.withLock { $0 = request.id }
    recorder.record(response, to: request, route: route)
    return true
  }

  var fields: HeaderFields {
    guard let id = id.withLock({ $0 }) else { return validity.fields }
    var fields = validity.fields
    fields.append(.xRequestID, id)
    return fields
  }
}

/// A parked request whose response the application finishes.
///
/// It does the same as `TransformedRequest`, but is not generic: code of a generic class is not
/// specialized, and takes several times as long.
final class FinishedRequest: ParkedRequest {
  private let request: any ParkedRequest
  private let finishing: ResponseFinishing

  init(_ request: any ParkedRequest, _ finishing: ResponseFinishing) {
    self.request = request
    self.finishing = finishing
  }

  var deadline: Int64 { request.deadline }
  func park(_ waker: any Waker) { request.park(waker) }
  func unpark() { request.unpark() }

  func resume(_ cause: WakeReason) -> HandlerResult {
    switch request.resume(cause) {
    case .response(let response): finishing.result(response)
    case .parked(let next): .parked(next === request ? self : FinishedRequest(next, finishing))
    case let result: result.transformed(by: finishing)
    }
  }
}

struct ResponseFinishing: ResponseTransform {
  let application: Application
  let request: Request
  let route: MatchedRoute?

  func result(_ response: Response) -> HandlerResult {
    application.finished(response, to: request, route: route)
  }

  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult {
    application.finished(response, validity, to: request, route: route)
  }

  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(application.finishedStream(response, to: request, route: route), source)
  }

  func result(of error: any Error) -> HandlerResult {
    application.finished(application.failure(error, request, of: route), to: request, route: route)
  }
}
