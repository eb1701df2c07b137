/// Whether anything of what it tracks is running.
///
/// Counted from the start of the work to its end of any kind: value, error, cancellation.
public final class ActivityIndicator: Sendable {
  private let count = AwaitableState(0)
  private let busy = Latest(false)

  /// An indicator that is idle.
  public init() {}

  /// Whether something is running.
  public var isBusy: Bool { busy.value }

  /// Busy or idle at once, then every change that lasts until the watcher looks.
  public var values: LatestValues<Bool> { busy.values }

  /// Runs `work`, and is busy for as long.
  public func track<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ work: () async throws -> Value
  ) async rethrows -> Value {
    add(1)
    defer { add(-1) }
    return try await work()
  }

  private func add(_ change: Int) {
    // Published under the lock of the count, so that the last change is also the last published.
    let wake = count.withState { count in
      let wasBusy = count > 0
      count += change
      let isBusy = count > 0
      return isBusy == wasBusy ? nil : busy.publishDeferringWake(isBusy).wake
    }
    wake?.resume()
  }
}
