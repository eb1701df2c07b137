import LockstepHTTP

/// Adds what is left of the limit to a response when it is sent, not when the request arrived.
extension RateReading: ResponseTransform {
  func result(_ response: Response) -> HandlerResult { .response(withFields(response)) }

  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult {
    .reusable(response, RateLimitedValidity(validity, self))
  }

  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(withFields(response), source)
  }

  func result(of error: any Error) throws -> HandlerResult { throw reported(by: error) }

  private func withFields(_ response: Response) -> Response {
    var response = response
    response.fields.append(contentsOf: fields)
    return response
  }
}

/// A validity that ends when nothing is left of the limit. Each use takes one request from it.
private final class RateLimitedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let reading: RateReading

  init(_ validity: any ResponseValidity, _ reading: RateReading) {
    self.validity = validity
    self.reading = reading
  }

  /// Takes from the limit only if the response is valid: if not, the request is counted when it is
  /// handled.
  func holds(at arrival: Int64) -> Bool {
    let (client, limit) = (reading.client, reading.meter.limit)
    guard client.hasAny(limit, at: arrival), validity.holds(at: arrival) else { return false }
    // Another loop may have taken the last one meanwhile. This request is one too many, but it has
    // been counted as handled already.
    _ = client.take(limit, at: arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = validity.fields
    fields.append(contentsOf: reading.fields)
    return fields
  }
}
