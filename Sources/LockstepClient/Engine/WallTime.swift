import Foundation
import LockstepTime

/// The time of day for a client.
package enum WallTime {
  /// The system's time. With a clock that a test moves, the time that has passed on that clock, so that a test
  /// has the same times in each run.
  package static func of(_ clock: any Clock<Duration>) -> @Sendable () -> Timestamp {
    if clock is ContinuousClock {
      return { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1_000)) }
    }
    return time(passedOn: clock)
  }

  /// The start of a test's time: 15 January 2027, 8:00 UTC.
  private static let start: Int64 = 1_800_000_000_000

  private static func time<Time: Clock<Duration>>(passedOn clock: Time) -> @Sendable () -> Timestamp {
    let first = clock.now
    return { Timestamp(millisecondsSince1970: start + first.duration(to: clock.now).milliseconds) }
  }
}
