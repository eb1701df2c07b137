/// The result of a handler. A response from memory needs no task and no other thread.
public enum HandlerResult: Sendable {
  case response(Response)
  /// A response that the server sends again if the same client sends a request with the same head,
  /// on any connection, as long as `ResponseValidity` permits it. Return it only if the request is
  /// a repetition itself.
  case reusable(Response, any ResponseValidity)
  /// Work that produces the result. It runs as a task on the event loop of the connection, so it
  /// must not block. If it throws a `Problem`, that problem is the response. Any other error
  /// becomes the problem `internal`.
  ///
  /// The server cancels the task when the client closes its side of the connection or the server
  /// drains. Work that waits for a change must then return at once; other work may finish. The
  /// server still sends the response if the client can read it.
  case async(@Sendable () async throws -> HandlerResult)
  /// A request that waits without a task: see `ParkedRequest`.
  case parked(any ParkedRequest)
  /// A response whose body arrives in pieces: see `EventSource`.
  case eventStream(Response, any EventSource)

  /// Transforms the response at once if it exists (without an allocation), or when it is made.
  @inlinable
  public func transformed(by transform: some ResponseTransform) -> HandlerResult {
    switch self {
    case .response(let response): transform.result(response)
    case .reusable(let response, let validity): transform.result(response, reusableBy: validity)
    case .async(let work):
      .async {
        let result: HandlerResult
        do { result = try await work() } catch { return try transform.result(of: error) }
        return result.transformed(by: transform)
      }
    case .parked(let request): .parked(TransformedRequest(request, transform))
    case .eventStream(let response, let source): transform.result(response, streaming: source)
    }
  }
}

/// Changes the responses of handlers: see `HandlerResult.transformed(by:)`.
public protocol ResponseTransform: Sendable {
  /// The result for a plain response.
  func result(_ response: Response) -> HandlerResult
  /// The result for a response that may be sent again.
  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult
  /// The result for the head of an event stream.
  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult
  /// The result for an error that asynchronous work has thrown. May throw another error.
  func result(of error: any Error) throws -> HandlerResult
}

@usableFromInline
final class TransformedRequest<Transform: ResponseTransform>: ParkedRequest {
  private let request: any ParkedRequest
  private let transform: Transform

  @usableFromInline
  init(_ request: any ParkedRequest, _ transform: Transform) {
    self.request = request
    self.transform = transform
  }

  @usableFromInline var deadline: Int64 { request.deadline }
  @usableFromInline func park(_ waker: any Waker) { request.park(waker) }
  @usableFromInline func unpark() { request.unpark() }
  @usableFromInline func resume(_ cause: WakeReason) -> HandlerResult {
    request.resume(cause).transformed(by: transform)
  }
}
