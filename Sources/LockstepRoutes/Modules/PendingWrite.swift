import LockstepHTTP
import LockstepSync
import LockstepThreading

/// A write whose transaction is not on disk yet. Its connection waits without a task, and is
/// notified when the transaction has its outcome.
///
/// The transaction runs even if the client disconnects. A shutdown or a half-closed connection does
/// not end the wait, because there is no response before the outcome.
final class PendingWrite: ParkedRequest {
  typealias Result = Swift.Result<Transaction.Outcome, any Error>

  private enum State {
    case pending(wake: @Sendable () -> Void)
    case settled(Result)
  }

  let deadline = Int64.max
  private let state = LockedState(State.pending(wake: {}))
  private let respond: @Sendable (Result) throws -> HandlerResult

  /// Starts without an outcome. `respond` makes the response from the outcome.
  init(respond: @escaping @Sendable (Result) throws -> HandlerResult) {
    self.respond = respond
  }

  /// Sets the outcome of the write. The ledger calls this once, on any thread.
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
        guard let result = self.result else { throw StillPending() }
        return try self.respond(result)
      }
    }
    return HandlerResult { try respond(result) }
  }

  private var result: Result? {
    state.withLock { if case .settled(let result) = $0 { result } else { nil } }
  }

  /// Calls `wake` once the outcome is known. Replaces the closure that an earlier call has set.
  private func whenSettled(_ wake: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock { state in
      if case .settled = state { return true }
      state = .pending(wake: wake)
      return false
    }
    if isSettled { wake() }
  }

  /// The connection was notified before the outcome was known, which is a programming error.
  private struct StillPending: Error {}
}
