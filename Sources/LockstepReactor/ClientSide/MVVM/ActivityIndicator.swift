/// Whether any tracked work is running.
///
/// Work counts until it returns or throws, even if it is cancelled.
public final class ActivityIndicator: Sendable {
  private let count = AwaitableState(0)
  private let busy = Latest(false)

  /// Makes an idle indicator.
  public init() {}

  /// Whether work is running.
  public var isBusy: Bool { busy.value }

  /// Whether work is running, now and after every change. Slow watchers skip short changes.
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
    count.add(change) { busy.publishDeferringWake($0).wake }?.resume()
  }
}

extension AwaitableState<Int> {
  /// Changes a count of runs. If the first run began or the last one ended, calls `publish` with
  /// whether any run is left. The lock is held, so that the last change is also published last.
  func add<Published: Sendable>(_ change: Int, publish: (Bool) -> Published) -> Published? {
    withState { count in
      let wasBusy = count > 0
      count += change
      return (count > 0) == wasBusy ? nil : publish(count > 0)
    }
  }
}
