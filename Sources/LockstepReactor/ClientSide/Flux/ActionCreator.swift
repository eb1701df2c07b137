/// Runs work and dispatches its progress: loading true → the model or the error → loading false.
///
/// If runs overlap, loading is true from the first start to the last end. Copies of a creator share
/// one count of runs. Separate creators do not, so give each its own loading subject.
public struct ActionCreator<Model: Sendable>: Sendable {
  private let loading: DispatchSubject<Bool>
  private let models: DispatchSubject<Model>
  private let report: @Sendable (any Error) -> Void
  private let runs = AwaitableState(0)

  /// Makes an action creator for these subjects of a dispatcher.
  public init(
    loading: DispatchSubject<Bool>,
    models: DispatchSubject<Model>,
    errors: DispatchSubject<any Error>
  ) {
    self.init(loading: loading, models: models) { errors.dispatch($0) }
  }

  /// Makes an action creator that hands errors to another action, such as the one action for the errors
  /// of the whole app.
  public init(
    loading: DispatchSubject<Bool>,
    models: DispatchSubject<Model>,
    report: @escaping @Sendable (any Error) -> Void
  ) {
    self.loading = loading
    self.models = models
    self.report = report
  }

  /// Runs `work` in the calling task. Cancellation is not dispatched as an error.
  public func create(_ work: @Sendable () async throws -> Model) async {
    count(1)
    defer { count(-1) }
    do {
      models.dispatch(try await work())
    } catch {
      // Cancelled work may throw any error, for example that of a closed connection.
      if error is CancellationError || Task.isCancelled { return }
      report(error)
    }
  }

  private func count(_ change: Int) {
    runs.add(change) { loading.dispatchDeferringWake($0) }?.complete()
  }
}
