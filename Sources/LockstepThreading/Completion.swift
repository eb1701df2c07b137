/// Waits for work that passes its result to a completion handler exactly once, unless `begin`
/// throws. A caller whose task is cancelled still waits.
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
