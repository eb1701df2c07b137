#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The time that some work took.
///
/// On a shared machine the wall clock also counts the work of others, so both times are shown.
struct Spent {
  /// The CPU time of this thread, which does all of the work.
  let processor: Duration
  /// The elapsed time.
  let wall: Duration

  /// Runs the work and measures both times.
  init(_ work: () throws -> Void) rethrows {
    let (processorStart, wallStart) = (Self.read(CLOCK_THREAD_CPUTIME_ID), Self.read(CLOCK_MONOTONIC))
    try work()
    processor = Self.read(CLOCK_THREAD_CPUTIME_ID) - processorStart
    wall = Self.read(CLOCK_MONOTONIC) - wallStart
  }

  private static func read(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }
}
