#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// State behind a lock, with a condition variable for which threads can wait.
///
/// `Synchronization.Mutex` has no condition variable. Under contention, the kernel hands its lock
/// to the next thread (`FUTEX_LOCK_PI`). That is slow, and the thread sanitizer reports races.
///
/// `@unchecked Sendable`: the state is accessed only while the lock is held.
public final class LockedState<State: Sendable>: @unchecked Sendable {
  /// Allocated and initialised while this object lives. POSIX requires that the address is fixed.
  @usableFromInline let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  @usableFromInline var state: State

  /// Room for the lock, in front of the condition variable.
  private static var conditionOffset: Int { 64 }
  private static var conditionSize: Int { MemoryLayout<pthread_cond_t>.size }

  /// Puts a lock around the state.
  public init(_ state: State) {
    self.state = state
    // One allocation for both. They are not fields of a nested type, because the metadata of a type
    // in a generic type is looked up for each object.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.conditionOffset + Self.conditionSize, alignment: 16)
    lock = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
    condition = (memory + Self.conditionOffset).bindMemory(to: pthread_cond_t.self, capacity: 1)
    lock.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(lock, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    // No thread holds the lock or waits, because such a thread would retain this object.
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(lock)
    UnsafeMutableRawPointer(lock).deallocate()
  }

  /// Runs `body` with exclusive access. `body` must be short and must not use this object.
  ///
  /// Inlinable, because every request calls it a few times, and a generic call across modules takes
  /// longer than the lock.
  @inlinable
  public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return try body(&state)
  }

  /// Runs `body` with exclusive access now and after each wake-up, until `body` returns a value.
  public func wait<Result>(for body: (inout State) -> Result?) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while true {
      if let result = body(&state) { return result }
      pthread_cond_wait(condition, lock)
    }
  }

  /// Like `wait(for:)`, with a time limit by the monotonic clock. Returns nil when the time is
  /// over.
  public func wait<Result>(atMost nanoseconds: Int64, for body: (inout State) -> Result?) -> Result? {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let end = Int64(deadline.tv_nsec) + max(0, nanoseconds)
    deadline.tv_sec += Int(end / 1_000_000_000)
    deadline.tv_nsec = Int(end % 1_000_000_000)
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while true {
      if let result = body(&state) { return result }
      let code = wait(until: &deadline)
      // A wake-up may have come at the last moment.
      if code != 0 { return body(&state) }
    }
  }

  /// Waits until a wake-up or a time of the monotonic clock. Returns an error code when the time is over.
  private func wait(until deadline: inout timespec) -> Int32 {
    #if canImport(Darwin)
      // Condition variables of Darwin know no monotonic deadline, but the time that is left.
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      let seconds = deadline.tv_sec - now.tv_sec
      let left = max(0, Int64(seconds) * 1_000_000_000 + Int64(deadline.tv_nsec - now.tv_nsec))
      var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
      return pthread_cond_timedwait_relative_np(condition, lock, &time)
    #else
      return pthread_cond_timedwait(condition, lock, &deadline)
    #endif
  }

  /// Wakes one waiting thread.
  public func wakeOne() { pthread_cond_signal(condition) }

  /// Wakes all waiting threads.
  public func wakeAll() { pthread_cond_broadcast(condition) }
}
