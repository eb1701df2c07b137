/// A flag that cancels one effect, because a task group cannot cancel a single child task.
@usableFromInline typealias CancelSignal = AwaitableState<Bool>

extension Effect {
  /// Runs an operation to its end, and returns its error. The signal cancels the operation; the
  /// function still waits for its end.
  @inlinable
  static func run(
    _ operation: @escaping Operation,
    emit: Emitter<Mutation>,
    cancelledBy signal: CancelSignal?
  ) async -> (any Error)? {
    do {
      guard let signal else {
        try await operation(emit)
        return nil
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await operation(emit) }
        group.addTask {
          _ = await signal.wait { $0 ? true : nil }
          throw CancellationError()
        }
        defer { group.cancelAll() }
        try await group.next()
      }
      return nil
    } catch {
      return error
    }
  }
}
