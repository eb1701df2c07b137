/// How many requests are answered: so many in each so many seconds, one after the other, and so many at once.
///
/// What isn't used comes back steadily, as tokens into a bucket: with 100 in 10 seconds one every 100 milliseconds, until the burst
/// is there again.
public struct RateLimit: Sendable, Equatable {
  /// How many in `seconds`: from 1 to 1,000,000.
  public let requests: Int
  /// In how many seconds: from 1 to 86,400.
  public let seconds: Int
  /// How many at once: from 1 to 1,000,000.
  public let burst: Int

  /// A limit; what is out of bounds is the nearest that isn't.
  ///
  /// - Parameters:
  ///   - requests: How many.
  ///   - seconds: In how many seconds.
  ///   - burst: How many at once; nil stands for as many as `requests`.
  public init(requests: Int, seconds: Int, burst: Int? = nil) {
    self.requests = Self.bounded(requests, 1_000_000)
    self.seconds = Self.bounded(seconds, 86_400)
    self.burst = Self.bounded(burst ?? requests, 1_000_000)
  }

  private static func bounded(_ number: Int, _ most: Int) -> Int { max(1, min(number, most)) }

  /// How long until one more is there, in nanoseconds.
  package var interval: Int64 { Int64(seconds) * 1_000_000_000 / Int64(requests) }

  /// How long until all of a burst is there again: of the slowest limits, some decades.
  package var span: Int64 {
    let (span, overflows) = interval.multipliedReportingOverflow(by: Int64(burst))
    return overflows ? .max / 4 : min(span, .max / 4)
  }
}
