/// How many requests are allowed in a time, and how many at once.
///
/// Used requests become available again at a steady rate. With 100 in 10 seconds, this is one
/// request every 100 milliseconds, until the whole burst is available.
public struct RateLimit: Sendable, Equatable {
  /// The requests in `seconds`: from 1 to 1,000,000.
  public let requests: Int
  /// The seconds for `requests`: from 1 to 86,400.
  public let seconds: Int
  /// How many requests may come at once: from 1 to 1,000,000.
  public let burst: Int

  /// Values out of bounds become the nearest bound. By default, `burst` is equal to `requests`.
  public init(requests: Int, seconds: Int, burst: Int? = nil) {
    self.requests = Self.bounded(requests, 1_000_000)
    self.seconds = Self.bounded(seconds, 86_400)
    self.burst = Self.bounded(burst ?? requests, 1_000_000)
  }

  private static func bounded(_ number: Int, _ most: Int) -> Int { max(1, min(number, most)) }

  /// The nanoseconds after which one used request is available again.
  package var interval: Int64 { Int64(seconds) * 1_000_000_000 / Int64(requests) }

  /// The nanoseconds after which a whole used burst is available again, at most 73 years.
  package var span: Int64 {
    let (span, overflows) = interval.multipliedReportingOverflow(by: Int64(burst))
    return overflows ? .max / 4 : min(span, .max / 4)
  }

  // The generic cell rate algorithm. Its state is the time when the whole burst is available again.

  /// The new state after one more request.
  func restored(after restored: Int64, at now: Int64) -> Int64 { max(restored, now) + interval }

  /// The nanoseconds until one more request is allowed; at most zero if it is allowed now.
  func wait(_ restored: Int64, at now: Int64) -> Int64 { self.restored(after: restored, at: now) - now - span }
}
