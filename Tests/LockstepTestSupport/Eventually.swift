import Glibc
import Testing

/// Waits until something holds: looks, gives way, looks again. How long that takes changes nothing but the time; after a
/// minute only a defect explains it.
public func eventually(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async rethrows
{
  for _ in 0..<60_000 {
    if try condition() { return }
    await aside { usleep(1000) }
  }
  Issue.record("it never came about", sourceLocation: sourceLocation)
}
