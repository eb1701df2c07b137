import LockstepHTTP
import Synchronization
import LockstepThreading

/// A parked request that is woken by a test. It records how the server uses it.
final class WakeSignal: ParkedRequest, EventSource {
  private struct State {
    var wakers: [any Waker] = []
    var causes: [String] = []
    var released = 0
    var pieces: [EventPiece] = []
  }

  let deadline: Int64
  private let state = LockedState(State())
  private let isReady: @Sendable (WakeSignal) -> Bool
  private let ready = Atomic(false)

  /// - Parameters:
  ///   - deadline: In nanoseconds of the server's clock, which begins at one second in tests.
  ///   - isReady: Whether there is a response when the request is woken.
  init(deadline: Int64 = .max, isReady: @escaping @Sendable (WakeSignal) -> Bool = { _ in true }) {
    self.deadline = deadline
    self.isReady = isReady
  }

  var waiting: Int { state.withLock { $0.wakers.count } }
  var released: Int { state.withLock { $0.released } }
  var causes: [String] { state.withLock { $0.causes } }

  func ring() {
    for waker in state.withLock({ $0.wakers }) { waker.wake() }
  }

  /// Sends a piece.
  func tell(_ piece: EventPiece) {
    state.withLock { $0.pieces.append(piece) }
    ring()
  }

  func park(_ waker: any Waker) { state.withLock { $0.wakers.append(waker) } }

  func unpark() { state.withLock { $0.released += 1 } }

  func resume(_ cause: WakeReason) -> HandlerResult {
    state.withLock { $0.causes.append("\(cause)") }
    if case .woken = cause, !isReady(self) { return .parked(self) }
    return .response(.text("\(cause)"))
  }

  func next(_ cause: WakeReason) -> EventPiece {
    state.withLock { state in
      if !state.pieces.isEmpty { return state.pieces.removeFirst() }
      if case .timeOver = cause { return .bytes(Array(": alive\n".utf8)) }
      return .nothing
    }
  }
}
