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

/// A request that waits, whose response gets what any response gets.
final class FinishedRequest: ParkedRequest {
  private let held: any ParkedRequest
  private let application: Application
  private let request: Request
  private let route: Int?

  init(_ held: any ParkedRequest, application: Application, request: Request, route: Int?) {
    self.held = held
    self.application = application
    self.request = request
    self.route = route
  }

  var deadline: Int64 { held.deadline }
  func hold(_ waker: any Waker) { held.hold(waker) }
  func release() { held.release() }
  func answer(_ cause: WakeReason) -> HandlerResult {
    application.finished(held.answer(cause), to: request, route: route)
  }
}
