import Glibc
import Testing

/// Waits until a condition is true, with a pause before each new check. A slow machine only makes
/// it take longer. After a minute the test fails.
public func eventually(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async rethrows
{
  for _ in 0..<60_000 {
    if try condition() { return }
    await aside { usleep(1000) }
  }
  Issue.record("the condition did not become true within a minute", sourceLocation: sourceLocation)
}
