import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware

@Suite("A bucket allows a burst at once, and then a fixed rate", .timeLimit(.minutes(10)))
struct RateBucketTests {
  private static let second: Int64 = 1_000_000_000

  @Test("A burst is allowed at once, then one request in each interval; refused requests use nothing up")
  func takes() {
    let limit = RateLimit(requests: 10, seconds: 5, burst: 3)
    let bucket = RateBucket()
    let half = Self.second / 2
    for _ in 1...3 { #expect(bucket.take(limit, at: 7) == .taken) }
    for _ in 1...5 { #expect(bucket.take(limit, at: 7) == .wait(half)) }
    #expect(bucket.take(limit, at: 7 + half - 1) == .wait(1))
    #expect(bucket.take(limit, at: 7 + half) == .taken)
    #expect(bucket.take(limit, at: 7 + half) == .wait(half))
    #expect(bucket.recovery(at: 7 + half) == 3 * half)
    #expect(bucket.recovery(at: 7 + 4 * half) == 0)
    for _ in 1...3 { #expect(bucket.take(limit, at: 1000 * half) == .taken, "a bucket never holds more than a burst") }
    #expect(bucket.take(limit, at: 1000 * half) == .wait(half))
  }

  @Test("`hasAny` predicts the result of `take`")
  func hasAny() {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "rate bucket"))
    for _ in 1...200 {
      let limit = RateLimit(
        requests: Int.random(in: 1...50, using: &numbers),
        seconds: Int.random(in: 1...20, using: &numbers),
        burst: Int.random(in: 1...9, using: &numbers)
      )
      let bucket = RateBucket()
      var now: Int64 = 0
      for _ in 1...50 {
        now += Int64.random(in: 0...Self.second, using: &numbers)
        let had = bucket.hasAny(limit, at: now)
        #expect((bucket.take(limit, at: now) == .taken) == had, "\(limit)")
      }
    }
  }

  @Test("A bucket never allows more than a burst and the refilled requests, whatever the pattern")
  func never() {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "rate bucket"))
    for _ in 1...100 {
      let limit = RateLimit(
        requests: Int.random(in: 1...100, using: &numbers),
        seconds: Int.random(in: 1...10, using: &numbers),
        burst: Int.random(in: 1...20, using: &numbers)
      )
      let bucket = RateBucket()
      var (now, taken) = (Int64(0), 0)
      for _ in 1...300 {
        now += Int64.random(in: 0...(2 * limit.interval), using: &numbers) / Int64.random(in: 1...4, using: &numbers)
        if bucket.take(limit, at: now) == .taken { taken += 1 }
        #expect(Int64(taken) <= Int64(limit.burst) + now / limit.interval, "\(limit)")
      }
    }
  }

  @Test("A closed bucket allows nothing and says that it is closed")
  func closed() {
    let bucket = RateBucket()
    bucket.close()
    #expect(bucket.take(RateLimit(requests: 1, seconds: 1), at: 5) == .closed)
    #expect(!bucket.hasAny(RateLimit(requests: 1, seconds: 1), at: 5))
  }

  @Test("The slowest and the fastest possible limits do not overflow")
  func extremes() {
    for limit in [
      RateLimit(requests: 1, seconds: 86_400, burst: 1_000_000), RateLimit(requests: 1_000_000, seconds: 1, burst: 1),
      RateLimit(requests: 0, seconds: 0, burst: 0), RateLimit(requests: .max, seconds: .max, burst: .max),
    ] {
      let bucket = RateBucket()
      #expect(bucket.take(limit, at: 0) == .taken)
      #expect(bucket.recovery(at: 0) == limit.interval)
      #expect(limit.span >= limit.interval && limit.interval > 0)
    }
  }
}

@Suite("The buckets of addresses have bounded memory", .timeLimit(.minutes(10)))
struct AddressBucketsTests {
  private static let limit = RateLimit(requests: 1, seconds: 1, burst: 2)

  @Test("Each IPv4 address and each /64 of IPv6 has one bucket, in any notation, and all other texts share one")
  func networks() {
    let buckets = AddressBuckets()
    func bucket(_ host: String) -> ObjectIdentifier { ObjectIdentifier(buckets.bucket(ofHost: host, at: 0)) }
    #expect(bucket("192.0.2.1") == bucket("::ffff:192.0.2.1"))
    #expect(bucket("192.0.2.1") != bucket("192.0.2.2"))
    #expect(bucket("2001:db8::1") == bucket("2001:DB8:0:0:ffff::2"))
    #expect(bucket("2001:db8::1") != bucket("2001:db8:0:1::1"))
    #expect(bucket("unknown") == bucket(""))
    #expect(buckets.count == 5)
  }

  @Test("There are never more buckets than the capacity, and an exhausted one is not evicted")
  func bounded() {
    let buckets = AddressBuckets(capacity: 256)
    let attacker = buckets.bucket(ofHost: "192.0.2.1", at: 0)
    for _ in 1...2 { #expect(attacker.take(Self.limit, at: 0) == .taken) }
    for number in 0..<20_000 {
      _ = buckets.bucket(ofHost: "2001:db8:\(String(number, radix: 16))::1", at: 1).take(Self.limit, at: 1)
      #expect(buckets.count <= 256)
    }
    #expect(buckets.bucket(ofHost: "192.0.2.1", at: 1) === attacker)
    #expect(attacker.take(Self.limit, at: 1) != .taken)
  }

  @Test("Full buckets are evicted first, and an evicted bucket is closed")
  func forgotten() {
    let buckets = AddressBuckets(capacity: 64)
    let later: Int64 = 60_000_000_000
    let idle = (0..<64).map { buckets.bucket(ofHost: "192.0.2.\($0)", at: 0) }
    for bucket in idle { _ = bucket.take(Self.limit, at: 0) }
    for number in 0..<2_000 {
      _ = buckets.bucket(ofHost: "10.0.\(number / 250).\(number % 250)", at: later).take(Self.limit, at: later)
    }
    for bucket in idle { #expect(bucket.take(Self.limit, at: later) == .closed) }
  }
}
