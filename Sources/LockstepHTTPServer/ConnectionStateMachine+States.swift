import LockstepHTTP

extension ConnectionStateMachine {
  enum State: Equatable, Sendable {
    /// Between two requests, or in the middle of a head. `hasBegun` is false if the
    /// current deadline is for the time between requests, true if it is for a head, and nil if there
    /// is no deadline.
    case readingHead(hasBegun: Bool?)
    /// The responder or a parked request makes the response.
    case responding
    case handling(HandlerWait)
    case parked(isWoken: Bool)
    case streaming(isWoken: Bool)
    /// The client must take the output before anything else happens.
    case writing
    /// The server discards the rest of a body that no handler has read. `bound` limits the size of
    /// the whole body.
    case discardingBody(bound: Int)
    /// The last response is sent. The server discards further input, then closes the connection.
    case lingering(discarded: Int)
    case closed
  }

  enum HandlerWait: Sendable {
    case nothing, input, output
  }

  enum Client: Sendable {
    case open
    /// The client sends no more, but may still read: a half-closed connection gets its response.
    case finished
    case gone
  }

  enum Action: Equatable, Sendable {
    case wait
    /// Send the output, then report `drained` or `blocked`.
    case flush
    case readHead
    case respond
    /// Respond with 503 on a surplus connection. `hasHead` is false if the head came too slowly.
    case turnAway(hasHead: Bool)
    /// The time for a head is over: respond with 408 if the head has begun.
    case timeOutHead(hasBegun: Bool)
    case discardBody(bound: Int)
    case discardInput
    /// Shut down the writing side, then discard all input.
    case finishWriting
    case askParked(WakeReason)
    case askSource(WakeReason)
    case endStream
    /// Resume the handler's task if it can go on. If `cancels`, cancel it first, because the client
    /// is leaving or the server drains.
    case serveHandler(cancels: Bool)
    /// The client reads too slowly: drop the output, cancel the handler's task, and close.
    case giveUp
    case close
  }
}
