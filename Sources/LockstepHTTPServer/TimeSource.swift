import Glibc

/// The clocks of a server. The server reads no other clock, so tests can pass their own.
public struct TimeSource: Sendable {
  /// Nanoseconds since a fixed moment; never goes back.
  public var monotonic: @Sendable () -> Int64
  /// Milliseconds since 1970 in UTC.
  public var millisecondsSince1970: @Sendable () -> Int64

  /// A time source of two clocks.
  public init(monotonic: @escaping @Sendable () -> Int64, millisecondsSince1970: @escaping @Sendable () -> Int64) {
    self.monotonic = monotonic
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// The system's clocks.
  public static let system = TimeSource(
    monotonic: { nanoseconds(of: CLOCK_MONOTONIC) },
    millisecondsSince1970: { nanoseconds(of: CLOCK_REALTIME) / 1_000_000 }
  )

  private static func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension Duration {
  /// The duration in nanoseconds, or the largest `Int64` if it is longer.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : whole &+ attoseconds / 1_000_000_000
  }
}
