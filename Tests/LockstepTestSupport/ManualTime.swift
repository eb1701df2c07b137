import LockstepHTTPServer
import Synchronization
import LockstepTime

/// A clock that stands still until a test advances it.
public final class ManualTime: Sendable {
  private static let start: Int64 = 1_000_000_000

  private let nanoseconds = Atomic<Int64>(ManualTime.start)

  /// A clock that shows a fixed moment.
  public init() {}

  /// The server's time. The calendar begins at 6 November 1994, 08:49:37, and advances with the
  /// clock.
  public var serverTime: TimeSource {
    TimeSource(
      monotonic: { self.nanoseconds.load(ordering: .sequentiallyConsistent) },
      millisecondsSince1970: {
        784_111_777_000 + (self.nanoseconds.load(ordering: .sequentiallyConsistent) - Self.start) / 1_000_000
      }
    )
  }

  /// Advances the clock.
  public func advance(by seconds: Double) {
    nanoseconds.add(Int64(seconds * 1_000_000_000), ordering: .sequentiallyConsistent)
  }
}
