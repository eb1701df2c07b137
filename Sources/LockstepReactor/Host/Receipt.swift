/// Lets the sender of an action wait for its outcome.
public final class Receipt<State: Sendable>: Sendable {
  @usableFromInline
  struct Progress: Sendable {
    @usableFromInline var reduced: State?
    @usableFromInline var outcome: Result<State, any Error>?

    @inlinable
    init() {}
  }

  @usableFromInline let progress: AwaitableState<Progress>

  @inlinable
  init() { progress = AwaitableState(Progress()) }

  /// Waits until the action's immediate mutations are reduced, and returns the state after them.
  ///
  /// Work that takes time may still run; its mutations come later. Throws the error that refused
  /// the action, and `CancellationError` when the host closed or the waiting task is cancelled.
  @inlinable
  public func reduced() async throws -> State {
    let result = await progress.wait { progress in
      progress.reduced.map { .success($0) } ?? progress.outcome
    }
    return try (result ?? .failure(CancellationError())).get()
  }

  /// Waits until the action's effect has ended, and returns the state of that time.
  ///
  /// Throws the error of the effect. Throws `CancellationError` when a newer action cancelled the
  /// effect, the host closed, or the waiting task is cancelled.
  @inlinable
  public func settled() async throws -> State {
    let result = await progress.wait { $0.outcome }
    return try (result ?? .failure(CancellationError())).get()
  }

  @inlinable
  func markReduced(_ state: State) {
    progress.change { $0.reduced = state }
  }

  @inlinable
  func settle(_ outcome: Result<State, any Error>) {
    progress.change { $0.outcome = outcome }
  }
}
