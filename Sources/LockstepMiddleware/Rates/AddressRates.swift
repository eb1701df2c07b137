import LockstepHTTP

/// The limit on the requests of each address.
package struct AddressRates: Sendable {
  package let meter: RateMeter
  let buckets: AddressBuckets

  package init(meter: RateMeter, buckets: AddressBuckets) {
    self.meter = meter
    self.buckets = buckets
  }

  /// What supervisors and load balancers ask all the time, from few addresses: they mustn't take a busy server for a broken one.
  private static let unlimited: Set<String> = ["/healthz", "/readyz", "/metrics"]

  /// Answers a request where its address may have one more; throws 429 otherwise.
  func answer(_ request: Request, _ answer: () throws -> HandlerResult) throws -> HandlerResult {
    if Self.unlimited.contains(request.head.path) { return try answer() }
    let bucket = buckets.bucket(ofHost: request.peer.host, at: request.arrival)
    return try meter.answer(bucket, at: request.arrival, answer)
  }
}
