/// What a sender holds to learn what became of its action.
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

  /// Waits until what the action caused *at once* is reduced, and returns the state of that moment.
  ///
  /// Work that takes time may still run; its states come later. Throws the error with which the
  /// action was refused, and `CancellationError` when the host closed or the waiting task is cancelled.
  @inlinable
  public func reduced() async throws -> State {
    let result = await progress.wait { progress in
      progress.reduced.map { .success($0) } ?? progress.outcome
    }
    return try (result ?? .failure(CancellationError())).get()
  }

  /// Waits until everything that the action caused has ended, and returns the state of that moment.
  ///
  /// Throws the error of its effect; `CancellationError` when the effect was cancelled by a newer
  /// one, the host closed, or the waiting task is cancelled.
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
