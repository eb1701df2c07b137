import LockstepHTTP

/// Adds the rest of the limit to a response when the response is sent, not when the request
/// arrives.
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

  /// Counts the request only if the response is valid. Otherwise the request is counted when it is
  /// handled.
  func holds(at arrival: Int64) -> Bool {
    let (client, limit) = (reading.client, reading.meter.limit)
    guard client.hasAny(limit, at: arrival), validity.holds(at: arrival) else { return false }
    // Another event loop may have used the last one meanwhile. Then this request exceeds the limit
    // by one, but it has been handled already.
    _ = client.take(limit, at: arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = validity.fields
    fields.append(contentsOf: reading.fields)
    return fields
  }
}
