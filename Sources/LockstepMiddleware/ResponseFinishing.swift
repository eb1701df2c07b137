import LockstepHTTP
import Synchronization

/// Records each time that a response is sent again. With an access log, each time has its own id.
final class RecordedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let request: Request
  /// Nil without an access log.
  private let ids: RequestIDs?
  private let record: @Sendable (_ request: Request, _ arrival: Int64) -> Void
  private let id: Mutex<String?>

  init(
    _ validity: any ResponseValidity,
    _ request: Request,
    ids: RequestIDs?,
    record: @escaping @Sendable (_ request: Request, _ arrival: Int64) -> Void
  ) {
    self.validity = validity
    self.request = request
    self.ids = ids
    self.record = record
    id = Mutex(request.id)
  }

  func holds(at arrival: Int64) -> Bool {
    guard validity.holds(at: arrival) else { return false }
    guard let ids else {
      record(request, arrival)
      return true
    }
    var request = request
    request.id = RequestIDs.given(by: request.head) ?? ids.next()
    id.withLock { $0 = request.id }
    record(request, arrival)
    return true
  }

  var fields: HeaderFields {
    guard ids != nil, let id = id.withLock({ $0 }) else { return validity.fields }
    var fields = validity.fields
    fields.append(.xRequestID, id)
    return fields
  }
}

struct ResponseFinishing: ResponseTransform {
  let application: Application
  let request: Request
  let route: Int?

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
