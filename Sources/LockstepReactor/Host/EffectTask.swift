/// Lets the loop cancel one effect: a child task of a group cannot be cancelled alone from outside.
@usableFromInline
final class CancelSignal: Sendable {
  @usableFromInline let isRaised = AwaitableState(false)

  @inlinable
  init() {}

  @inlinable
  func raise() {
    isRaised.change { $0 = true }
  }

  @inlinable
  func wait() async {
    _ = await isRaised.wait { $0 ? true : nil }
  }
}

extension Effect {
  /// Runs an operation to its end, or cancels it at the signal and waits for its end all the same.
  @inlinable
  static func run(
    _ operation: @escaping Operation,
    emit: Emit<Mutation>,
    cancelledBy signal: CancelSignal?
  ) async -> (any Error)? {
    guard let signal else { return await errorOf(operation, emit) }
    return await withTaskGroup(of: Ending.self) { group in
      group.addTask { .operation(await errorOf(operation, emit)) }
      group.addTask {
        await signal.wait()
        return .signal
      }
      var error: (any Error)?
      for await ending in group {
        group.cancelAll()
        if case .operation(let thrown) = ending { error = thrown }
      }
      return error
    }
  }

  @inlinable
  static func errorOf(_ operation: Operation, _ emit: Emit<Mutation>) async -> (any Error)? {
    do {
      try await operation(emit)
      return nil
    } catch {
      return error
    }
  }
}

@usableFromInline
enum Ending: Sendable {
  case operation((any Error)?)
  case signal
}
