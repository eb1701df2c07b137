import LockstepHTTP
import LockstepThreading

/// A request that this server has sent to another one, and the response as far as it has arrived.
///
/// When the last reference is released, the request is withdrawn: its connection is closed.
package final class ForwardedExchange: Sendable {
  /// Why there is no response.
  package enum Failure: Error, Equatable {
    /// No server listens at the address.
    case refused
    /// The server cannot be reached, or its name cannot be resolved.
    case unreachable
    case timedOut
    /// The response is malformed or incomplete.
    case broken
    /// The response is larger than the bound.
    case tooLarge
    /// Too many requests are forwarded at the same time, or their responses take too much memory.
    case full
    /// This server is shutting down.
    case shutDown
  }

  package enum Progress: Sendable {
    case waiting
    case response(Response)
    /// The head of a stream, whose pieces follow.
    case stream(Response)
    case failed(Failure)
  }

  private let slot: ExchangeSlot
  private let token: UInt64
  private let post: @Sendable (UInt64, ExchangeCommand) -> Void

  init(_ slot: ExchangeSlot, token: UInt64, post: @escaping @Sendable (UInt64, ExchangeCommand) -> Void) {
    (self.slot, self.token, self.post) = (slot, token, post)
  }

  deinit { if !slot.isOver { post(token, .withdraw) } }

  package var progress: Progress { slot.progress }

  /// Wakes `waker` when there is progress, or at once if there was some already.
  package func park(_ waker: any Waker) { slot.park(waker) }

  package func unpark() { slot.unpark() }

  /// Lets the other server respond now: it sees that its client sends no more.
  package func makeDue() { post(token, .hurry) }

  /// Returns when there is progress, even if the task is cancelled.
  nonisolated(nonsending) package func settled() async { await slot.settled() }

  /// The next piece of a stream.
  func takePiece() -> EventPiece {
    let (piece, mustResume) = slot.take()
    if mustResume { post(token, .resume) }
    return piece
  }
}

/// A message to a forwarded request on its thread.
enum ExchangeCommand: Sendable {
  case withdraw
  case hurry
  /// The client has taken the pieces of the stream, so more may be read.
  case resume
}

/// The part of an exchange that its thread and the event loop of its client share.
final class ExchangeSlot: Sendable {
  /// How much of a stream may wait for a slow client, in bytes.
  private static let longestPiece = 64 * 1024

  private struct State: Sendable {
    var progress = ForwardedExchange.Progress.waiting
    var pieces: [UInt8] = []
    var isStreamOver = false
    var isPaused = false
    var waker: (any Waker)?
    var waiting: CheckedContinuation<Void, Never>?

    var hasNews: Bool {
      switch progress {
      case .waiting: false
      case .stream: !pieces.isEmpty || isStreamOver
      case .response, .failed: true
      }
    }
  }

  private let state = LockedState(State())

  var progress: ForwardedExchange.Progress { state.withLock { $0.progress } }

  /// Whether the thread has nothing more to do for this exchange.
  var isOver: Bool {
    state.withLock { state in
      switch state.progress {
      case .waiting: false
      case .stream: state.isStreamOver
      case .response, .failed: true
      }
    }
  }

  func park(_ waker: any Waker) {
    let hasNews = state.withLock { state in
      state.waker = waker
      return state.hasNews
    }
    if hasNews { waker.wake() }
  }

  func unpark() { state.withLock { $0.waker = nil } }

  nonisolated(nonsending) func settled() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if case .waiting = state.progress {
          state.waiting = continuation
          return false
        }
        return true
      }
      if isSettled { continuation.resume() }
    }
  }

  /// Sets the response, the head of a stream, or the failure. Only the first one counts, but a stream
  /// may end later.
  func settle(_ progress: ForwardedExchange.Progress) {
    change { state in
      switch state.progress {
      case .waiting: state.progress = progress
      case .stream: state.isStreamOver = true
      case .response, .failed: break
      }
    }
  }

  /// Adds a piece of a stream. Returns whether the thread must stop reading until the client has
  /// taken the pieces.
  func append(_ piece: some Sequence<UInt8>) -> Bool {
    change { state in
      state.pieces.append(contentsOf: piece)
      state.isPaused = state.pieces.count >= Self.longestPiece
      return state.isPaused
    }
  }

  func endStream() { change { $0.isStreamOver = true } }

  func take() -> (EventPiece, mustResume: Bool) {
    state.withLock { state in
      guard state.pieces.isEmpty else {
        defer { (state.pieces, state.isPaused) = ([], false) }
        return (.bytes(state.pieces), state.isPaused)
      }
      return (state.isStreamOver ? .end : .nothing, false)
    }
  }

  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let (result, waker, waiting) = state.withLock { state in
      let result = body(&state)
      return (
        result, state.hasNews || !isWaiting(state) ? state.waker : nil, isWaiting(state) ? nil : state.waiting.take()
      )
    }
    waker?.wake()
    waiting?.resume()
    return result
  }

  private func isWaiting(_ state: State) -> Bool {
    if case .waiting = state.progress { true } else { false }
  }
}
