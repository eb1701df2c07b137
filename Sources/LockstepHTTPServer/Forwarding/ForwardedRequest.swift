import LockstepHTTP

/// A client's request that waits for the response of another server.
package final class ForwardedRequest: ParkedRequest {
  private let exchange: ForwardedExchange
  private let isRead: Bool
  private let problem: @Sendable (ForwardedExchange.Failure) -> Problem

  /// If the client leaves or this server drains, the other server must respond to a read at once.
  /// `problem` makes the response if there is none.
  package init(
    _ exchange: ForwardedExchange,
    isRead: Bool,
    problem: @escaping @Sendable (ForwardedExchange.Failure) -> Problem
  ) {
    (self.exchange, self.isRead, self.problem) = (exchange, isRead, problem)
  }

  /// None: the thread of the exchange limits its time.
  package var deadline: Int64 { .max }

  package func park(_ waker: any Waker) { exchange.park(waker) }

  package func unpark() { exchange.unpark() }

  package func resume(_ cause: WakeReason) -> HandlerResult {
    if let result { return result }
    guard cause == .leaving else { return .parked(self) }
    if isRead { exchange.makeDue() }
    return .async {
      await self.exchange.settled()
      return self.result ?? .response(self.problem(.broken).response)
    }
  }

  private var result: HandlerResult? {
    switch exchange.progress {
    case .waiting: nil
    case .response(let response): .response(response)
    case .stream(let head): .eventStream(head, ForwardedStream(exchange))
    case .failed(let failure): .response(problem(failure).response)
    }
  }
}

/// A stream of another server, passed on to a client.
private final class ForwardedStream: EventSource {
  private let exchange: ForwardedExchange

  init(_ exchange: ForwardedExchange) { self.exchange = exchange }

  /// None: the thread of the exchange ends a stream that is silent for too long.
  var deadline: Int64 { .max }

  func park(_ waker: any Waker) { exchange.park(waker) }

  func unpark() { exchange.unpark() }

  func next(_ cause: WakeReason) -> EventPiece { exchange.takePiece() }
}
