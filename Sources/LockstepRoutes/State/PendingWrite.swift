import LockstepHTTP
import LockstepSync
import LockstepThreading

/// A write on its way to the disk: its connection waits without a task, and is told when the write is settled.
///
/// Whether anybody waits makes no difference to the write. A server that stops, or a client that has sent its last request,
/// doesn't end the waiting: the answer isn't known before.
final class PendingWrite: ParkedRequest {
  typealias Result = Swift.Result<Transaction.Outcome, any Error>

  private enum State {
    case pending(wake: @Sendable () -> Void)
    case settled(Result)
  }

  let deadline = Int64.max
  private let state = LockedState(State.pending(wake: {}))
  private let respond: @Sendable (Result) throws -> HandlerResult

  /// A write whose answer is made of what became of it.
  init(respond: @escaping @Sendable (Result) throws -> HandlerResult) {
    self.respond = respond
  }

  /// Says what became of the write. To be called once, on any thread.
  func settle(_ result: Result) {
    let wake = state.withLock { state in
      guard case .pending(let wake) = state else { return {} }
      state = .settled(result)
      return wake
    }
    wake()
  }

  func park(_ waker: any Waker) { whenSettled { waker.wake() } }

  func unpark() {}

  func resume(_ cause: WakeReason) -> HandlerResult {
    guard let result else {
      return .async {
        await withCheckedContinuation { continuation in self.whenSettled { continuation.resume() } }
        return try self.settledAnswer()
      }
    }
    do {
      return try respond(result)
    } catch {
      // Passed on, so that what is done to any error is done to this one.
      return .async { throw error }
    }
  }

  private var result: Result? {
    state.withLock { if case .settled(let result) = $0 { result } else { nil } }
  }

  private func settledAnswer() throws -> HandlerResult {
    guard let result else { throw StillPending() }
    return try respond(result)
  }

  /// Calls `wake` once the write is settled, in the place of whatever was to be called before.
  private func whenSettled(_ wake: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock { state in
      if case .settled = state { return true }
      state = .pending(wake: wake)
      return false
    }
    if isSettled { wake() }
  }

  /// Somebody was woken too early: a mistake in this code.
  private struct StillPending: Error {}
}
