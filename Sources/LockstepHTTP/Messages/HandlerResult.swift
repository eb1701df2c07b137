/// What a request gets: its response, or the work that will make it.
///
/// Most requests can be answered from what is in memory. They cost no task and no hop; only who has to wait for
/// something pays for waiting.
public enum HandlerResult: Sendable {
  /// The response, at once.
  case now(Response)
  /// The response, at once, and once more to the same request on the same connection for as long as the premise holds. Worth
  /// its price only for a request that is a repetition already.
  case lasting(Response, any ResponseValidity)
  /// Work that ends in the response. It runs as a task of its own, on the event loop of its connection, so it must not
  /// block. A `Problem` it throws is told to the client as it is; any other error as `internal`.
  ///
  /// Cancellation of the task means that nobody wants to wait any longer: the client is gone or the server stops. Who
  /// waits for something to happen then returns what there is; who is at work may finish it. The response is still sent
  /// where there is a client to read it.
  case later(@Sendable () async throws -> Response)
  /// Work after which it's known what to answer: like `later`, and free to answer in any way.
  case then(@Sendable () async throws -> HandlerResult)
  /// The response to come when there is something to tell: see `ParkedRequest`.
  case held(any ParkedRequest)
  /// A response whose body comes piece by piece, whenever there is something to tell: see `EventSource`.
  case events(Response, any EventSource)
}
