import LockstepReactorTesting
import LockstepTime

/// The clocks of a server and of its clients, read from the clock of a test.
enum VirtualTime {
  /// The time of day at the start of the test's clock, as the clients of the test have it: 15 January 2027, 8:00 UTC.
  static let start: Int64 = 1_800_000_000_000
  /// The server's monotonic clock at the start, in nanoseconds: a server has never just booted.
  private static let boot: Int64 = 3_600_000_000_000

  static func source(_ clock: VirtualClock) -> TimeSource {
    TimeSource(
      monotonic: { monotonic(clock) },
      millisecondsSince1970: { start + clock.now.offset.wholeMilliseconds }
    )
  }

  static func monotonic(_ clock: VirtualClock) -> Int64 { boot + clock.now.offset.wholeNanoseconds }

  /// The instant of a time of the monotonic clock. `Int64.max`, which means never, is in 292 years.
  static func instant(of monotonic: Int64) -> VirtualClock.Instant {
    VirtualClock.Instant(offset: .nanoseconds(monotonic - boot))
  }
}
