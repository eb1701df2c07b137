import LockstepHTTP
import Synchronization

/// A premise of which it's recorded each time that it held.
final class RecordedValidity: ResponseValidity {
  private let premise: any ResponseValidity
  private let record: @Sendable (_ arrival: Int64) -> Void

  init(_ premise: any ResponseValidity, record: @escaping @Sendable (_ arrival: Int64) -> Void) {
    self.premise = premise
    self.record = record
  }

  func holds(at arrival: Int64) -> Bool {
    guard premise.holds(at: arrival) else { return false }
    record(arrival)
    return true
  }

  var fields: HeaderFields { premise.fields }
}

/// The same where every request has a line in the log, and so a name: the client's own, or another one each time.
final class NamedValidity: ResponseValidity {
  private let premise: any ResponseValidity
  private let request: Request
  private let names: RequestNames
  private let record: @Sendable (_ request: Request, _ arrival: Int64) -> Void
  /// The name of the request that is being answered.
  private let name: Mutex<String?>

  init(
    _ premise: any ResponseValidity,
    _ request: Request,
    _ names: RequestNames,
    record: @escaping @Sendable (_ request: Request, _ arrival: Int64) -> Void
  ) {
    self.premise = premise
    self.request = request
    self.names = names
    self.record = record
    name = Mutex(request.name)
  }

  func holds(at arrival: Int64) -> Bool {
    guard premise.holds(at: arrival) else { return false }
    var request = request
    request.name = RequestNames.given(by: request.head) ?? names.next()
    name.withLock { $0 = request.name }
    record(request, arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = premise.fields
    if let name = name.withLock({ $0 }) { fields.append(.xRequestID, name) }
    return fields
  }
}

/// What an application does with every response.
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
