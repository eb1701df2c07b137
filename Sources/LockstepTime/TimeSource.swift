#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The clocks of a server. Code takes them as a parameter, so that tests can pass their own.
public struct TimeSource: Sendable {
  /// Nanoseconds since a fixed moment. This clock never goes back.
  public var monotonic: @Sendable () -> Int64
  /// Milliseconds since 1970 in UTC. Only for timestamps, because this clock may be set back.
  public var millisecondsSince1970: @Sendable () -> Int64

  /// Combines two clocks.
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

  /// The present moment.
  public func now() -> Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970()) }

  /// The time of the monotonic clock as a duration.
  public func elapsed() -> Duration { .nanoseconds(monotonic()) }
}

extension Duration {
  /// Whole nanoseconds, at most `Int64.max`.
  package var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : whole &+ attoseconds / 1_000_000_000
  }

  /// Whole milliseconds, at most half of `Int64.max`, so that adding the time now cannot overflow.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (milliseconds, overflows) = seconds.multipliedReportingOverflow(by: 1_000)
    if overflows || milliseconds > .max / 2 { return .max / 2 }
    return milliseconds + attoseconds / 1_000_000_000_000_000
  }
}
