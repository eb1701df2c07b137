#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What work took.
///
/// On a machine that is shared the wall clock also counts what the neighbours did, so both are shown.
struct Spent {
  /// The processor time of this thread, on which all of the work runs.
  let processor: Duration
  /// The time on the wall.
  let wall: Duration

  /// Does the work and looks at both clocks before and after.
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
