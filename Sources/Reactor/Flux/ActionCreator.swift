/// Does work and announces its course: loading true → the model or the error → loading false.
public struct ActionCreator<Model: Sendable>: Sendable {
  private let loading: DispatchSubject<Bool>
  private let models: DispatchSubject<Model>
  private let errors: DispatchSubject<any Error>

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
    loading.dispatch(true)
    defer { loading.dispatch(false) }
    do {
      models.dispatch(try await work())
    } catch is CancellationError {
      return
    } catch {
      errors.dispatch(error)
    }
  }
}
