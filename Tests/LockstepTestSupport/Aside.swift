import LockstepThreading

/// Runs blocking work on a thread of its own and waits for it without blocking the caller's thread.
/// Tests share few threads, so one that blocks would delay all others.
public func aside(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    do {
      let thread = try NamedThread(name: "aside") {
        work()
        continuation.resume()
      }
      thread.detach()
    } catch {
      // No thread could be started, so the work runs here.
      work()
      continuation.resume()
    }
  }
}

/// Runs blocking work on a thread of its own, and returns its value.
public func valueAside<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  let outcome = LockedState<Result<Value, any Error>?>(nil)
  await aside {
    let result = Result { try work() }
    outcome.withLock { $0 = result }
  }
  // `aside` returns after its work.
  guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("the work has not run") }
  return try outcome.get()
}
