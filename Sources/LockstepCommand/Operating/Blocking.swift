import LockstepThreading

/// Where a command that has one thing to do waits for what is asynchronous.
enum Blocking {
  /// Runs `body` to its end and gives what it returns or throws. Holds this thread meanwhile.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
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
}
