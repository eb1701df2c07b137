/// Calls `begin`, which starts work, and waits for the result that the work passes to `completion`
/// exactly once. If `begin` throws, throws that error. Cancelling the task does not end the wait.
@inlinable
nonisolated(nonsending) public func withCompletion<Value: Sendable>(
  _ begin: (_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) throws -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    do {
      try begin { continuation.resume(with: $0) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}
