import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import Counter

@Suite("A counter", .timeLimit(.minutes(10)))
struct CounterTests {
  private let clock = VirtualClock()

  @Test("A step takes half a second, shows that it takes time, and ends with an alert")
  func increase() {
    let test = TestReactor(Counter(clock: clock), clock: clock)
    test.send(.increase) { $0.isLoading = true }
    test.advance(by: .milliseconds(500))
    test.receive(
      { $0.value = 1 },
      { $0.isLoading = false },
      { $0.alert = "increased!" }
    )
    test.finish()
  }

  @Test("A second tap waits for the first step")
  func twoTaps() {
    let test = TestReactor(Counter(clock: clock), clock: clock)
    test.send(.increase) { $0.isLoading = true }
    test.advance(by: .milliseconds(400))
    test.send(.decrease)
    test.advance(by: .milliseconds(100))
    test.receive(
      { $0.value = 1 },
      { $0.isLoading = false },
      { $0.alert = "increased!" },
      { $0.isLoading = true }
    )
    test.advance(by: .milliseconds(499))
    test.advance(by: .milliseconds(1))
    test.receive(
      { $0.value = 0 },
      { $0.isLoading = false },
      { $0.alert = "decreased!" }
    )
    test.finish()
  }

  @Test("The same alert twice is two events")
  func alerts() {
    let scheduler = TestScheduler(tick: .milliseconds(100))
    let host = ReactorHost(Counter(clock: scheduler.clock))
    scheduler.run { await host.run() }
    let alerts = scheduler.observe(host.states.pulse(\.$alert), from: 200)
    for time in [210, 220] { scheduler.scheduleAt(time) { host.send(.increase) } }
    scheduler.start()
    #expect(
      alerts.events == [.next(200, nil), .next(215, "increased!"), .next(225, "increased!"), .completed(1000)]
    )
  }
}
