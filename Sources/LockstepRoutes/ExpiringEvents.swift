import LockstepHTTP

/// Ends event streams when the token of their request expires.
struct ExpiringStreams: ResponseTransform {
  /// In nanoseconds of the monotonic clock.
  let end: Int64
  let monotonic: @Sendable () -> Int64

  func result(_ response: Response) -> HandlerResult { .response(response) }

  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult {
    .reusable(response, validity)
  }

  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(response, ExpiringEvents(source, self))
  }

  func result(of error: any Error) throws -> HandlerResult { throw error }
}

private final class ExpiringEvents: EventSource {
  private let source: any EventSource
  private let expiry: ExpiringStreams

  init(_ source: any EventSource, _ expiry: ExpiringStreams) {
    (self.source, self.expiry) = (source, expiry)
  }

  var deadline: Int64 { min(source.deadline, expiry.end) }

  func park(_ waker: any Waker) { source.park(waker) }

  func unpark() { source.unpark() }

  func next(_ cause: WakeReason) -> EventPiece { expiry.monotonic() < expiry.end ? source.next(cause) : .end }
}
