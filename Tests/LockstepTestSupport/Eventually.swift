import Testing

/// Waits until a condition is true, with a pause before each new check. A slow machine only makes
/// it take longer.
///
/// It records an issue when the pauses add up to `patience`, or when the test's time limit is over.
/// It adds the requested lengths of the pauses, so a machine that stands still does not use up the
/// patience.
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
      Issue.record(
        "the condition did not become true in \(ContinuousClock.now - start)",
        sourceLocation: sourceLocation
      )
      return
    }
    try? await Task.sleep(for: pause)
    waited += pause
    pause = min(pause * 1.25, .milliseconds(20))
  }
}
