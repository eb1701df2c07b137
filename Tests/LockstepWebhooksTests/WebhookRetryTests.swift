import LockstepTestSupport
import Testing

@testable import LockstepWebhooks

@Suite("Retries of webhooks", .timeLimit(.minutes(10)))
struct WebhookRetryTests {
  @Test(
    "The status decides about a delivery",
    arguments: [
      (200, AttemptOutcome.Kind.delivered), (204, .delivered), (299, .delivered), (301, .failed(retryAfter: nil)),
      (302, .failed(retryAfter: nil)), (304, .failed(retryAfter: nil)), (400, .failed(retryAfter: nil)),
      (404, .failed(retryAfter: nil)), (410, .gone), (429, .throttled(retryAfter: nil)),
      (500, .failed(retryAfter: nil)),
      (502, .throttled(retryAfter: nil)), (503, .throttled(retryAfter: nil)), (504, .throttled(retryAfter: nil)),
      (100, .failed(retryAfter: nil)), (0, .failed(retryAfter: nil)), (999, .failed(retryAfter: nil)),
    ]
  )
  func outcomes(status: Int, outcome: AttemptOutcome.Kind) {
    #expect(AttemptOutcome.Kind(status: status) == outcome)
  }

  @Test("Retry-After is from a second to an hour")
  func retryAfter() {
    for (given, used) in [(-5, 1), (0, 1), (1, 1), (90, 90), (3600, 3600), (3601, 3600), (1 << 40, 3600)] {
      let time = Duration.seconds(given)
      #expect(AttemptOutcome.Kind(status: 503, retryAfter: time) == .throttled(retryAfter: .seconds(used)))
      #expect(AttemptOutcome.Kind(status: 500, retryAfter: time) == .failed(retryAfter: .seconds(used)))
    }
    #expect(AttemptOutcome.Kind(status: 200, retryAfter: .seconds(9)) == .delivered)
    #expect(AttemptOutcome.Kind(status: 410, retryAfter: .seconds(9)) == .gone)
  }

  @Test("The first retries come after about 1, 5 and 30 seconds, later ones after about an hour")
  func delays() {
    let times = (1...12).map { WebhookSchedule.delay(after: $0, random: 0.5) }
    #expect(times == [1, 5, 30, 120, 300, 900, 1800, 3600, 3600, 3600, 3600, 3600].map { Duration.seconds($0) })
  }

  @Test("Random numbers shift a delay by at most a fifth, and never below Retry-After")
  func jitter() {
    let seed = TestSeed.make(for: "WebhookDeliveryTests.jitter")
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<5000 {
      let attempt = numbers.one(of: [Int.min, -1, 0, 1, 2, 3, 7, 8, 9, 80, Int.max])
      let random = Double.random(in: 0...1, using: &numbers)
      let (middle, delay) = (
        WebhookSchedule.delay(after: attempt, random: 0.5), WebhookSchedule.delay(after: attempt, random: random)
      )
      #expect(delay >= middle * 0.799 && delay <= middle * 1.201, "seed \(seed)")
      let named = Duration.seconds(numbers.below(7200))
      #expect(
        WebhookSchedule.delay(after: attempt, random: random, retryAfter: named) == max(delay, named),
        "seed \(seed)"
      )
    }
    #expect(WebhookSchedule.delay(after: 1, random: 0) == .milliseconds(800))
    #expect(WebhookSchedule.delay(after: 1, random: 1) == .milliseconds(1200))
    #expect(WebhookSchedule.delay(after: 1, random: .nan) >= .zero)
    #expect(WebhookSchedule.delay(after: 1, random: .infinity) == .milliseconds(1200))
  }

  @Test("A message is tried about 80 times in three days")
  func lifetime() {
    let seed = TestSeed.make(for: "WebhookDeliveryTests.lifetime")
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<100 {
      var (age, attempts) = (Duration.zero, 1)
      while age < WebhookSchedule.lifetime {
        age += WebhookSchedule.delay(after: attempts, random: Double.random(in: 0...1, using: &numbers))
        attempts += 1
      }
      #expect((60...100).contains(attempts), "seed \(seed)")
    }
  }
}
