import Synchronization

/// A value behind a lock, and the tasks that wait for it to change.
///
/// It is the only concurrency primitive of this library: the latest value, the event queue, the
/// reactor's inbox and its receipts are each a `AwaitableState` over a plain struct. Two rules keep it
/// free of deadlock: what runs under the lock is this library's own code, never a user's, and
/// continuations are resumed after the lock was let go (resuming calls into an executor).
///
/// Here and below `@inlinable` lets the compiler specialize a reactor's loop in the module that
/// defines the reactor; without it a step costs thirty times as much.
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

  /// Reads or changes the state and wakes nobody.
  @inlinable
  func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    withLock { body(&$0.state) }
  }

  /// Changes the state and hands back whom to wake, for a caller that holds a lock of its own.
  @inlinable
  func changeDeferringWake<Result: Sendable>(_ body: (inout State) -> Result) -> (Result, Wake) {
    withLock { (body(&$0.state), $0.waiters.takeAll()) }
  }

  /// Changes the state, then wakes every task that waits, in the order in which they began to wait.
  @inlinable
  @discardableResult
  func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, wake) = changeDeferringWake(body)
    wake.resume()
    return result
  }

  /// Waits until `ready` gives a result, and returns it; `nil` when the task is cancelled.
  ///
  /// `ready` runs under the lock, once at the start and once after each change, and never in a task
  /// that was cancelled before: what it would have taken stays for others.
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
        // Resumed exactly once: whoever takes a continuation out of the list, under the lock, resumes it.
        await withUnsafeContinuation(isolation: isolation) { continuation in
          // A cancellation before this point has set the flag; one after it finds the waiter parked.
          let mustWait = withLock { guarded in
            if Task.isCancelled { return false }
            result = ready(&guarded.state)
            guard result == nil else { return false }
            guarded.waiters.insert(continuation, number: ticket)
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

  @inlinable
  func withLock<Result: Sendable>(_ body: (inout Guarded) -> Result) -> Result {
    #if THREAD_SANITIZER
      // The sanitizer doesn't see how the kernel hands over a Mutex that threads contend for, and takes
      // what it guards for unguarded. Behind a door that it sees nobody contends for the Mutex.
      while isEntered.exchange(true, ordering: .acquiring) {}
      defer { isEntered.store(false, ordering: .releasing) }
    #endif
    return guarded.withLock { body(&$0) }
  }
}
