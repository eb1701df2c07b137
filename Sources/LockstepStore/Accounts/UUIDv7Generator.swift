import LockstepCollections
import LockstepThreading

/// Makes ids. Each id is greater than the one before, even within a millisecond and after the clock
/// was set back.
///
/// Within one millisecond the random part increases by a random step, so that ids cannot be
/// predicted (RFC 9562, 6.2, method 2). Any thread may call `next()`.
package final class UUIDv7Generator: Sendable {
  private struct Last: Sendable {
    var milliseconds: Int64 = -1
    /// 74 bits.
    var random: UInt128 = 0
  }

  private let last = LockedState(Last())
  private let now: @Sendable () -> Int64
  private let random: @Sendable () -> UInt64

  /// `now` is in milliseconds since 1970; `random` must be unpredictable.
  package init(now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64) {
    self.now = now
    self.random = random
  }

  package func next() -> UUIDv7 {
    let (milliseconds, first, second) = (now(), random(), random())
    return last.withLock { last in
      // 48 bits reach to the year 10,889. A clock beyond that year or before 1970 is wrong, but
      // must not break the id.
      let milliseconds = min(max(milliseconds, 0), 1 << 48 - 1)
      if milliseconds > last.milliseconds {
        // 73 random bits. The highest of the 74 bits is zero, which leaves room for steps.
        let random = (UInt128(first) << 64 | UInt128(second)) & (1 << 73 - 1)
        last = Last(milliseconds: milliseconds, random: random)
      } else {
        // There is room for 2^41 such steps. No clock stands still for that long.
        last.random += UInt128(first >> 32) + 1
      }
      return UUIDv7(
        milliseconds: last.milliseconds,
        random12: UInt64(truncatingIfNeeded: last.random >> 62),
        random62: UInt64(truncatingIfNeeded: last.random)
      )
    }
  }
}
