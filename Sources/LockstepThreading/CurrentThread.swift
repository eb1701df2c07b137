import Glibc

/// Blocks the thread of a command, which has nothing else to do.
package enum CurrentThread {
  package static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let outcome = LockedState<Result<Value, any Error>?>(nil)
    Task {
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      outcome.withLock { $0 = result }
      outcome.wakeAll()
    }
    return try outcome.wait { $0 }.get()
  }

  /// Sleeps for the whole duration, even if signals arrive.
  package static func sleep(for duration: Duration) {
    guard duration > .zero else { return }
    let (seconds, attoseconds) = duration.components
    var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    while true {
      let wanted = rest
      guard withUnsafePointer(to: wanted, { nanosleep($0, &rest) }) != 0, errno == EINTR else { return }
    }
  }
}
