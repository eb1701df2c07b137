/// A clock whose sleepers sleep until a test wakes them.
final class SteppedClock: Clock {
  struct Instant: InstantProtocol {
    let offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private let sleeps = AsyncStream<Duration>.makeStream()
  private let wakings = AsyncStream<Void>.makeStream()

  let now = Instant(offset: .zero)
  let minimumResolution = Duration.zero

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    sleeps.continuation.yield(deadline.offset)
    for await _ in wakings.stream { return }
  }

  /// Returns the duration of the next sleep.
  func nextSleep() async -> Duration? {
    for await duration in sleeps.stream { return duration }
    return nil
  }

  /// Wakes the present or the next sleeper.
  func wake() { wakings.continuation.yield() }
}
