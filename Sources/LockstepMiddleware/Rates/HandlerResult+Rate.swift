import LockstepHTTP

extension HandlerResult {
  /// The answer, and in it how much is left once it's sent.
  func telling(_ reading: RateReading) -> HandlerResult {
    switch self {
    case .now(let response): return .now(response.telling(reading))
    case .lasting(let response, let premise): return .lasting(response, RateLimitedValidity(premise, reading))
    case .later(let work):
      return .later {
        do { return try await work().telling(reading) } catch { throw reading.told(error) }
      }
    case .then(let work):
      return .then {
        do { return try await work().telling(reading) } catch { throw reading.told(error) }
      }
    case .events(let response, let source): return .events(response.telling(reading), source)
    case .held(let held): return .held(RateLimitedRequest(held, reading))
    }
  }
}

extension Response {
  fileprivate func telling(_ reading: RateReading) -> Response {
    var response = self
    response.fields.append(contentsOf: reading.fields)
    return response
  }
}

/// A premise that holds only as long as there is something left: each time one is used up.
private final class RateLimitedValidity: ResponseValidity {
  private let premise: any ResponseValidity
  private let reading: RateReading

  init(_ premise: any ResponseValidity, _ reading: RateReading) {
    self.premise = premise
    self.reading = reading
  }

  /// First asked and only then used up, since the premise within may not hold, and then the request is counted where it's looked at anew.
  func holds(at arrival: Int64) -> Bool {
    let (client, limit) = (reading.client, reading.meter.limit)
    guard client.hasAny(limit, at: arrival), premise.holds(at: arrival) else { return false }
    // Where another loop has taken the last one meanwhile, there is one too many: it has been counted as answered.
    _ = client.take(limit, at: arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = premise.fields
    fields.append(contentsOf: reading.fields)
    return fields
  }
}

/// A request that waits, whose answer says how much is left then.
private final class RateLimitedRequest: ParkedRequest {
  private let held: any ParkedRequest
  private let reading: RateReading

  init(_ held: any ParkedRequest, _ reading: RateReading) {
    self.held = held
    self.reading = reading
  }

  var deadline: Int64 { held.deadline }
  func hold(_ waker: any Waker) { held.hold(waker) }
  func release() { held.release() }
  func answer(_ cause: WakeReason) -> HandlerResult { held.answer(cause).telling(reading) }
}
