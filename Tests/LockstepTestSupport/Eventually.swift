import Testing

/// Waits until something holds: looks, gives way, looks again. How long that takes changes nothing but the time.
///
/// It records an issue when it has paused for `patience` in all, which only a defect takes up, or when the test's time
/// limit is over. It adds up the pauses as they were asked for, so that a machine that stands still costs no patience.
public func eventually(
  patience: Duration = .seconds(120),
  _ condition: () async throws -> Bool,
  sourceLocation: SourceLocation = #_sourceLocation
) async rethrows {
  let start = ContinuousClock.now
  var waited = Duration.zero
  var pause = Duration.milliseconds(1)
  while true {
    // The condition may be that the task is cancelled.
    let isCancelled = Task.isCancelled
    if try await condition() { return }
    guard waited < patience, !isCancelled else {
      Issue.record("it never came about in \(ContinuousClock.now - start)", sourceLocation: sourceLocation)
      return
    }
    try? await Task.sleep(for: pause)
    waited += pause
    pause = min(pause * 1.25, .milliseconds(20))
  }
}
