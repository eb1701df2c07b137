import Glibc

/// State that many threads share: one at a time gets at it, and a thread can sleep until it is as it needs it.
///
/// Why not `Synchronization.Mutex`: it has no condition to wait for, and where threads do contend, its lock is handed on
/// by the kernel (`FUTEX_LOCK_PI`), which is slow, and which the thread sanitizer can't see and reports as races.
///
/// `@unchecked Sendable`: the state is `Sendable` itself, and is touched only while the lock is held.
public final class LockedState<State: Sendable>: @unchecked Sendable {
  private struct Primitives {
    var lock = pthread_mutex_t()
    var condition = pthread_cond_t()
  }

  /// Allocated and initialised as long as this object lives, at an address that doesn't move, as POSIX demands.
  private let primitives: UnsafeMutablePointer<Primitives>
  private var state: State

  /// A monitor of this state.
  public init(_ state: State) {
    self.state = state
    primitives = .allocate(capacity: 1)
    primitives.initialize(to: Primitives())
    pthread_mutex_init(&primitives.pointee.lock, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(&primitives.pointee.condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    // Nobody holds the lock or sleeps: a thread that did would hold this object.
    pthread_cond_destroy(&primitives.pointee.condition)
    pthread_mutex_destroy(&primitives.pointee.lock)
    primitives.deallocate()
  }

  /// Runs `body` alone with the state. It should be short, and must not come back to this monitor.
  public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(&primitives.pointee.lock)
    defer { pthread_mutex_unlock(&primitives.pointee.lock) }
    return try body(&state)
  }

  /// Runs `body` alone with the state, again and again whenever somebody wakes this thread, until it returns something.
  public func wait<Result>(for body: (inout State) -> Result?) -> Result {
    pthread_mutex_lock(&primitives.pointee.lock)
    defer { pthread_mutex_unlock(&primitives.pointee.lock) }
    while true {
      if let result = body(&state) { return result }
      pthread_cond_wait(&primitives.pointee.condition, &primitives.pointee.lock)
    }
  }

  /// The same for so long at most, on the system's clock: nil when the time is over before `body` returns something.
  public func wait<Result>(atMost nanoseconds: Int64, for body: (inout State) -> Result?) -> Result? {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let end = Int64(deadline.tv_nsec) + max(0, nanoseconds)
    deadline.tv_sec += Int(end / 1_000_000_000)
    deadline.tv_nsec = Int(end % 1_000_000_000)
    pthread_mutex_lock(&primitives.pointee.lock)
    defer { pthread_mutex_unlock(&primitives.pointee.lock) }
    while true {
      if let result = body(&state) { return result }
      let code = pthread_cond_timedwait(&primitives.pointee.condition, &primitives.pointee.lock, &deadline)
      // Whoever was woken at the last moment looks once more.
      if code != 0 { return body(&state) }
    }
  }

  /// Wakes one of the threads that wait, after a change that is good for one.
  public func wakeOne() { pthread_cond_signal(&primitives.pointee.condition) }

  /// Wakes all threads that wait, after a change that concerns them all.
  public func wakeAll() { pthread_cond_broadcast(&primitives.pointee.condition) }
}
