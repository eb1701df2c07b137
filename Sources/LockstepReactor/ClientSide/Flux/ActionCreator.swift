/// Does work and announces its course: loading true → the model or the error → loading false.
///
/// Of runs that overlap, loading begins with the first and ends with the last. Copies of a creator
/// count together; two creators that were made apart don't know of each other, so give each a loading
/// subject of its own.
public struct ActionCreator<Model: Sendable>: Sendable {
  private let loading: DispatchSubject<Bool>
  private let models: DispatchSubject<Model>
  private let errors: DispatchSubject<any Error>
  private let runs = AwaitableState(0)

  /// An action creator that announces through these subjects of a dispatcher.
  public init(
    loading: DispatchSubject<Bool>,
    models: DispatchSubject<Model>,
    errors: DispatchSubject<any Error>
  ) {
    self.loading = loading
    self.models = models
    self.errors = errors
  }

  /// Runs `work` in the calling task. Loading ends in every case; cancellation is no error.
  public func create(_ work: @Sendable () async throws -> Model) async {
    count(1)
    defer { count(-1) }
    do {
      models.dispatch(try await work())
    } catch {
      // Cancelled work may say so by any error, such as that of a connection that was closed.
      if error is CancellationError || Task.isCancelled { return }
      errors.dispatch(error)
    }
  }

  private func count(_ change: Int) {
    // Announced under the lock of the count, so that the last change is also the last that is told.
    let delivery = runs.withState { runs in
      let wasLoading = runs > 0
      runs += change
      let isLoading = runs > 0
      return isLoading == wasLoading ? nil : loading.dispatchDeferringWake(isLoading)
    }
    delivery?.complete()
  }
}
