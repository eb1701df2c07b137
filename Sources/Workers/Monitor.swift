import Glibc

/// State that many threads share: one at a time gets at it, and a thread can sleep until it is as it needs it.
///
/// Why not `Synchronization.Mutex`: it has no condition to wait for, and where threads do contend, its lock is handed on
/// by the kernel (`FUTEX_LOCK_PI`), which is slow, and which the thread sanitizer can't see and reports as races.
///
/// `@unchecked Sendable`: the state is `Sendable` itself, and is touched only while the lock is held.
public final class Monitor<State: Sendable>: @unchecked Sendable {
  /// Both are allocated and initialised as long as this object lives, at addresses that don't move, as POSIX demands.
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  /// A monitor of this state.
  public init(_ state: State) {
    self.state = state
    lock = .allocate(capacity: 1)
    lock.initialize(to: pthread_mutex_t())
    pthread_mutex_init(lock, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)
  }

  deinit {
    // Nobody holds the lock or sleeps: a thread that did would hold this object.
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  /// Runs `body` alone with the state. It should be short, and must not come back to this monitor.
  public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return try body(&state)
  }

  /// Runs `body` alone with the state, again and again whenever somebody wakes this thread, until it returns something.
  public func wait<Result>(for body: (inout State) -> Result?) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while true {
      if let result = body(&state) { return result }
      pthread_cond_wait(condition, lock)
    }
  }

  /// Wakes one of the threads that wait, after a change that is good for one.
  public func wakeOne() { pthread_cond_signal(condition) }

  /// Wakes all threads that wait, after a change that concerns them all.
  public func wakeAll() { pthread_cond_broadcast(condition) }
}
