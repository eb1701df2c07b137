/// Cancels one effect when it becomes true. A task group cannot cancel a single child task from
/// outside.
@usableFromInline typealias CancelSignal = AwaitableState<Bool>

extension Effect {
  /// Runs an operation to its end. The signal cancels it; the function still waits until it has
  /// ended.
  @inlinable
  static func run(
    _ operation: @escaping Operation,
    emit: Emitter<Mutation>,
    cancelledBy signal: CancelSignal?
  ) async -> (any Error)? {
    guard let signal else { return await errorOf(operation, emit) }
    return await withTaskGroup(of: EffectOutcome.self) { group in
      group.addTask { .operation(await errorOf(operation, emit)) }
      group.addTask {
        _ = await signal.wait { $0 ? true : nil }
        return .signal
      }
      var error: (any Error)?
      for await outcome in group {
        group.cancelAll()
        if case .operation(let thrown) = outcome { error = thrown }
      }
      return error
    }
  }

  @inlinable
  static func errorOf(_ operation: Operation, _ emit: Emitter<Mutation>) async -> (any Error)? {
    do {
      try await operation(emit)
      return nil
    } catch {
      return error
    }
  }
}

@usableFromInline
enum EffectOutcome: Sendable {
  case operation((any Error)?)
  case signal
}
