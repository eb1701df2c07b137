import Synchronization

/// A value behind a lock, and the waiters for its next change.
///
/// This library has no other lock. Two rules prevent deadlocks. Only code of this library runs
/// under the lock. Waiters are resumed without the lock, because resuming a task calls an executor.
///
/// `@inlinable` lets the compiler specialize a reactor's loop in the Swift module that defines the
/// reactor. Without it, handling an action takes thirty times as long.
@usableFromInline
final class AwaitableState<State: Sendable>: Sendable {
  @usableFromInline
  struct Guarded: Sendable {
    @usableFromInline var state: State
    @usableFromInline var waiters = WaiterList()

    @inlinable
    init(state: State) { self.state = state }
  }

  @usableFromInline let guarded: Mutex<Guarded>
  @usableFromInline let tickets = Atomic<Int>(0)
  #if THREAD_SANITIZER
    @usableFromInline let isEntered = Atomic(false)
  #endif

  @inlinable
  init(_ state: State) {
    guarded = Mutex(Guarded(state: state))
  }

  /// Reads or changes the state without waking waiters.
  @inlinable
  func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    withLock { body(&$0.state) }
  }

  /// Changes the state and returns the waiters to wake, for a caller that holds another lock.
  @inlinable
  func changeDeferringWake<Result: Sendable>(_ body: (inout State) -> Result) -> (Result, Wake) {
    withLock { (body(&$0.state), $0.waiters.takeAll()) }
  }

  /// Changes the state, then wakes the waiters in the order in which they began to wait.
  @inlinable
  @discardableResult
  func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, wake) = changeDeferringWake(body)
    wake.resume()
    return result
  }

  /// Waits until `ready` returns a result, and returns it; `nil` when the task is cancelled.
  ///
  /// `ready` runs under the lock, at the start and after each change. It does not run if the task
  /// is already cancelled, so such a task takes nothing from the state.
  @inlinable
  func wait<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    for ready: (inout State) -> Result?
  ) async -> Result? {
    while true {
      if Task.isCancelled { return nil }
      if let result = withState(ready) { return result }
      let ticket = tickets.add(1, ordering: .relaxed).newValue
      var result: Result?
      await withTaskCancellationHandler {
        // Resumed once: here, or by the code that removes the continuation from the list.
        await withUnsafeContinuation(isolation: isolation) { continuation in
          // An earlier cancellation has set `isCancelled`. A later one removes the waiter.
          let mustWait = withLock { guarded in
            if Task.isCancelled { return false }
            result = ready(&guarded.state)
            guard result == nil else { return false }
            guarded.waiters.insert(.task(continuation), number: ticket)
            return true
          }
          if !mustWait { continuation.resume() }
        }
      } onCancel: {
        withLock { $0.waiters.remove(number: ticket) }?.resume()
      }
      if let result { return result }
    }
  }

  /// Returns the result of `ready`. If there is none, the next change sends `signal` once.
  func poll<Result: Sendable>(_ signal: ChangeSignal, for ready: (inout State) -> Result?) -> Polled<Result> {
    let ticket = tickets.add(1, ordering: .relaxed).newValue
    return withLock { guarded in
      if let result = ready(&guarded.state) { return .element(result) }
      guarded.waiters.insert(.signal(signal), number: ticket)
      return .waiting(ticket)
    }
  }

  /// Removes the signal of a `poll`, if no change has sent it.
  func forget(_ ticket: Int) {
    // Released after the lock, because that may run a deinitializer.
    let removed = withLock { $0.waiters.remove(number: ticket) }
    withExtendedLifetime(removed) {}
  }

  @inlinable
  func withLock<Result: Sendable>(_ body: (inout Guarded) -> Result) -> Result {
    #if THREAD_SANITIZER
      // The thread sanitizer does not see how the kernel hands over a contended Mutex, and reports
      // races that do not exist. It sees this spin lock, which prevents the contention.
      while isEntered.exchange(true, ordering: .acquiring) {}
      defer { isEntered.store(false, ordering: .releasing) }
    #endif
    return guarded.withLock { body(&$0) }
  }
}
