import Glibc

/// Where a store's time comes from: nothing in it asks a clock by itself, so that tests hand in their own.
public struct StoreTime: Sendable {
  /// How much time has passed since some fixed moment; never goes back.
  public var elapsed: @Sendable () -> Duration
  /// Milliseconds since 1970, as people tell time; written beside what happened, never calculated with.
  public var millisecondsSince1970: @Sendable () -> Int64

  /// A time of two sources.
  public init(elapsed: @escaping @Sendable () -> Duration, millisecondsSince1970: @escaping @Sendable () -> Int64) {
    self.elapsed = elapsed
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// The system's clocks.
  public static let system = StoreTime(
    elapsed: { read(CLOCK_MONOTONIC) },
    millisecondsSince1970: { Int64(read(CLOCK_REALTIME) / .milliseconds(1)) }
  )

  /// How much time has passed, as a count of nanoseconds.
  package var elapsedNanoseconds: @Sendable () -> Int64 {
    { [elapsed] in
      let (seconds, attoseconds) = elapsed().components
      return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
  }

  private static func read(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
