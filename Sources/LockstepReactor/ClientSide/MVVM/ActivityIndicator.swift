/// Whether any tracked work is running.
///
/// Work counts from its start to its end, by value, error or cancellation.
public final class ActivityIndicator: Sendable {
  private let count = AwaitableState(0)
  private let busy = Latest(false)

  /// Makes an idle indicator.
  public init() {}

  /// Whether work is running.
  public var isBusy: Bool { busy.value }

  /// Whether work is running: at once, then every change. Slow watchers skip short changes.
  public var values: LatestValues<Bool> { busy.values }

  /// Runs `work` and is busy until it ends.
  public func track<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ work: () async throws -> Value
  ) async rethrows -> Value {
    add(1)
    defer { add(-1) }
    return try await work()
  }

  private func add(_ change: Int) {
    // Published under the lock of the count, so that the last change is also published last.
    let wake = count.withState { count in
      let wasBusy = count > 0
      count += change
      let isBusy = count > 0
      return isBusy == wasBusy ? nil : busy.publishDeferringWake(isBusy).wake
    }
    wake?.resume()
  }
}
