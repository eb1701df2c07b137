import Glibc

/// Where the server's time comes from. Nothing in the engine asks a clock by itself, so that tests hand in their own.
public struct TimeSource: Sendable {
  /// Nanoseconds that never go back, since some fixed moment.
  public var monotonic: @Sendable () -> Int64
  /// Milliseconds since 1970 in UTC, as people and `Date` tell time.
  public var millisecondsSince1970: @Sendable () -> Int64

  /// A time of two sources.
  public init(
    monotonic: @escaping @Sendable () -> Int64,
    millisecondsSince1970: @escaping @Sendable () -> Int64
  ) {
    self.monotonic = monotonic
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// The system's clocks.
  public static let system = TimeSource(
    monotonic: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    },
    millisecondsSince1970: {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
  )
}

extension Duration {
  /// The duration in nanoseconds, at most what 63 bits hold.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : whole &+ attoseconds / 1_000_000_000
  }
}
