import LockstepHTTP

extension HandlerResult {
  /// The result with the rate limit's fields, as they are when the response is sent.
  func reporting(_ reading: RateReading) -> HandlerResult {
    switch self {
    case .now(let response): return .now(response.reporting(reading))
    case .lasting(let response, let validity): return .lasting(response, RateLimitedValidity(validity, reading))
    case .later(let work):
      return .later {
        do { return try await work().reporting(reading) } catch { throw reading.reported(by: error) }
      }
    case .then(let work):
      return .then {
        do { return try await work().reporting(reading) } catch { throw reading.reported(by: error) }
      }
    case .events(let response, let source): return .events(response.reporting(reading), source)
    case .held(let held): return .held(MappedParkedRequest(held) { $0.reporting(reading) })
    }
  }
}

extension Response {
  fileprivate func reporting(_ reading: RateReading) -> Response {
    var response = self
    response.fields.append(contentsOf: reading.fields)
    return response
  }
}

/// Sends a response again only while the limit allows: each time uses up one request.
private final class RateLimitedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let reading: RateReading

  init(_ validity: any ResponseValidity, _ reading: RateReading) {
    self.validity = validity
    self.reading = reading
  }

  /// Takes only if the validity holds; otherwise the request is counted where it is handled.
  func holds(at arrival: Int64) -> Bool {
    let (client, limit) = (reading.client, reading.meter.limit)
    guard client.hasAny(limit, at: arrival), validity.holds(at: arrival) else { return false }
    // If another event loop has taken the last one meanwhile, there is one too many: it is counted
    // as answered already.
    _ = client.take(limit, at: arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = validity.fields
    fields.append(contentsOf: reading.fields)
    return fields
  }
}
