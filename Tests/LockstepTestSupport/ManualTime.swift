import LockstepHTTPServer
import Synchronization
import LockstepTime
import Testing

/// A clock that stands still until a test advances it.
public final class ManualTime: Sendable {
  private static let start: Int64 = 1_000_000_000

  private let nanoseconds = Atomic<Int64>(ManualTime.start)
  private let reads = Atomic(0)

  /// A clock that shows a fixed moment.
  public init() {}

  /// The server's time. The calendar begins at 6 November 1994, 08:49:37, and advances with the
  /// clock.
  public var serverTime: TimeSource {
    TimeSource(
      monotonic: {
        self.reads.add(1, ordering: .sequentiallyConsistent)
        return self.nanoseconds.load(ordering: .sequentiallyConsistent)
      },
      millisecondsSince1970: {
        784_111_777_000 + (self.nanoseconds.load(ordering: .sequentiallyConsistent) - Self.start) / 1_000_000
      }
    )
  }

  /// Advances the clock.
  public func advance(by seconds: Double) {
    nanoseconds.add(Int64(seconds * 1_000_000_000), ordering: .sequentiallyConsistent)
  }

  /// Advances the clock, calls `wake`, and returns when the monotonic clock was read again. If only
  /// an event loop reads it, the loop is then in a turn with the new time.
  public func advance(by seconds: Double, waking wake: () -> Void) async {
    advance(by: seconds)
    let before = reads.load(ordering: .sequentiallyConsistent)
    wake()
    await eventually { reads.load(ordering: .sequentiallyConsistent) > before }
  }
}
