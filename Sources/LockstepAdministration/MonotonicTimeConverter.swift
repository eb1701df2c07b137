import LockstepRoutes
import LockstepThreading
import LockstepTime

/// Converts moments of the monotonic clock to dates.
package struct MonotonicTimeConverter: Sendable {
  /// In nanoseconds. A smaller difference is due to the reading of two clocks one after the other, or to
  /// a small correction of the system's date.
  private static let step: Int64 = 100_000_000

  private let monotonic: @Sendable () -> Int64
  private let millisecondsSince1970: @Sendable () -> Int64
  /// The nanoseconds from a moment to its date.
  private let distance: LockedState<Int64>

  package init(_ time: TimeSource) {
    (monotonic, millisecondsSince1970) = (time.monotonic, time.millisecondsSince1970)
    distance = LockedState(time.millisecondsSince1970() * 1_000_000 - time.monotonic())
  }

  /// The same date each time, unless the system's date was changed.
  func time(of moment: Int64) -> Timestamp {
    let measured = millisecondsSince1970() * 1_000_000 - monotonic()
    let distance = distance.withLock { distance in
      if abs(measured - distance) >= Self.step { distance = measured }
      return distance
    }
    return Timestamp(millisecondsSince1970: (moment + distance) / 1_000_000)
  }
}
