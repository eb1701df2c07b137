import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Activity indicator", .timeLimit(.minutes(10)))
struct ActivityIndicatorTests {
  let scheduler = TestScheduler()
  let indicator = ActivityIndicator()

  private func work(_ start: Int, _ seconds: Int, fails: Bool = false, until: Int = 1000) {
    scheduler.run(from: start, until: until) { [clock = scheduler.clock, indicator] in
      try? await indicator.track {
        try await clock.sleep(for: .seconds(seconds))
        if fails { throw Broken() }
      }
    }
  }

  @Test("It is busy from the first start to the last end of overlapping work")
  func overlap() {
    work(100, 50)
    work(120, 100)
    work(300, 10)
    let busy = scheduler.observe(indicator.values, from: 0)
    scheduler.start()
    #expect(
      busy.events == [
        .next(0, false), .next(100, true), .next(220, false), .next(300, true), .next(310, false),
      ]
    )
  }

  @Test("An error ends the activity")
  func error() {
    work(100, 50, fails: true)
    let busy = scheduler.observe(indicator.values, from: 0)
    scheduler.start()
    #expect(busy.events == [.next(0, false), .next(100, true), .next(150, false)])
  }

  @Test("Cancellation ends the activity")
  func cancellation() {
    work(100, 500, until: 130)
    let busy = scheduler.observe(indicator.values, from: 0)
    scheduler.start()
    #expect(busy.events == [.next(0, false), .next(100, true), .next(130, false)])
    #expect(!indicator.isBusy)
  }

  @Test("The result of the work is returned")
  func value() async {
    #expect(await indicator.track { 42 } == 42)
  }
}
