import LockstepHTTP
import Synchronization

/// Records each time that a response is sent again. With an access log each request has an id, the
/// client's own or a new one.
final class RecordedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let request: Request
  /// Nil without an access log.
  private let names: RequestNames?
  private let record: @Sendable (_ request: Request, _ arrival: Int64) -> Void
  private let name: Mutex<String?>

  init(
    _ validity: any ResponseValidity,
    _ request: Request,
    names: RequestNames?,
    record: @escaping @Sendable (_ request: Request, _ arrival: Int64) -> Void
  ) {
    self.validity = validity
    self.request = request
    self.names = names
    self.record = record
    name = Mutex(request.name)
  }

  func holds(at arrival: Int64) -> Bool {
    guard validity.holds(at: arrival) else { return false }
    guard let names else {
      record(request, arrival)
      return true
    }
    var request = request
    request.name = RequestNames.given(by: request.head) ?? names.next()
    name.withLock { $0 = request.name }
    record(request, arrival)
    return true
  }

  var fields: HeaderFields {
    guard names != nil, let name = name.withLock({ $0 }) else { return validity.fields }
    var fields = validity.fields
    fields.append(.xRequestID, name)
    return fields
  }
}

/// The last step of every response of an application.
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
