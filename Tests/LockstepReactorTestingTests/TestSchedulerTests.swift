import LockstepReactorTesting
import Testing

struct Broken: Error, Equatable {}

@Suite("Test scheduler", .timeLimit(.minutes(10)))
struct TestSchedulerTests {
  let scheduler = TestScheduler()

  @Test("A hot sequence emits with or without readers, so a late reader misses elements")
  func hotSequence() {
    let hot = scheduler.createHotSequence([.next(100, "a"), .next(210, "b"), .next(300, "c"), .completed(400)])
    let observer = scheduler.observe(hot)
    scheduler.start()
    #expect(observer.events == [.next(210, "b"), .next(300, "c"), .completed(400)])
    #expect(hot.subscriptions == [Subscription(200, 400)])
  }

  @Test("A cold sequence starts from the beginning for each reader")
  func coldSequence() {
    let cold = scheduler.createColdSequence([.next(10, 1), .completed(20)])
    let early = scheduler.observe(cold, from: 100)
    let late = scheduler.observe(cold, from: 300)
    scheduler.start()
    #expect(early.events == [.next(110, 1), .completed(120)])
    #expect(late.events == [.next(310, 1), .completed(320)])
    #expect(cold.subscriptions == [Subscription(100, 120), Subscription(300, 320)])
  }

  @Test("An error is recorded and ends the reading")
  func errors() {
    let hot = scheduler.createHotSequence([.next(210, 1), .error(220, Broken()), .next(230, 2)])
    let cold = scheduler.createColdSequence([.next(10, 1), .error(20, Broken()), .next(30, 2)])
    let hotObserver = scheduler.observe(hot)
    let coldObserver = scheduler.observe(cold)
    scheduler.start()
    #expect(hotObserver.events == [.next(210, 1), .error(220, Broken())])
    #expect(coldObserver.events == [.next(210, 1), .error(220, Broken())])
    #expect(hot.subscriptions == [Subscription(200, 220)])
    #expect(cold.subscriptions == [Subscription(200, 220)])
  }

  @Test("A reading ends at its time, and cancels the sequence")
  func disposal() {
    let hot = scheduler.createHotSequence([.next(250, 1), .next(350, 2)])
    let cold = scheduler.createColdSequence([.next(50, 1), .next(150, 2)])
    let hotObserver = scheduler.observe(hot, until: 300)
    let coldObserver = scheduler.observe(cold, until: 300)
    scheduler.start()
    #expect(hotObserver.events == [.next(250, 1)])
    #expect(coldObserver.events == [.next(250, 1)])
    #expect(hot.subscriptions == [Subscription(200, 300)])
    #expect(cold.subscriptions == [Subscription(200, 300)])
  }

  @Test("A sequence without an end stays subscribed until the scheduler stops")
  func silence() {
    let cold = scheduler.createColdSequence([.next(10, 1)])
    let observer = scheduler.observe(cold)
    scheduler.start()
    #expect(observer.events == [.next(210, 1)])
    #expect(cold.subscriptions == [Subscription(200, 1000)])
  }

  @Test("With one timeline per attempt, a retry gets another result")
  func attempts() {
    let cold = scheduler.createColdSequence(attempts: [
      [.error(10, Broken())], [.error(20, Broken())], [.next(5, "ok"), .completed(6)],
    ])
    let observer = scheduler.createObserver(String.self)
    scheduler.scheduleAt(100) {
      for _ in 1...4 { await observer.read(cold) }
    }
    scheduler.start()
    #expect(
      observer.events == [
        .error(110, Broken()), .error(130, Broken()),
        .next(135, "ok"), .completed(136),
        .next(141, "ok"), .completed(142),
      ]
    )
    #expect(
      cold.subscriptions == [
        Subscription(100, 110), Subscription(110, 130), Subscription(130, 136), Subscription(136, 142),
      ]
    )
  }

  @Test("Events at the same time occur in the order of their description")
  func ties() {
    let observer = scheduler.createObserver(String.self)
    scheduler.scheduleAt(100) { observer.next("first") }
    let hot = scheduler.createHotSequence([.next(100, "second")])
    scheduler.bind(hot, to: observer, from: 50)
    scheduler.scheduleAt(100) { observer.next("third") }
    scheduler.start()
    #expect(observer.events == [.next(100, "first"), .next(100, "second"), .next(100, "third")])
  }

  @Test("The length of a tick can be set")
  func ticks() {
    let scheduler = TestScheduler(tick: .milliseconds(10))
    let observer = scheduler.createObserver(Int.self)
    scheduler.scheduleAt(25) { observer.next(1) }
    scheduler.start()
    #expect(observer.events == [.next(25, 1)])
    #expect(scheduler.clock.now.offset == .milliseconds(250))
  }

  @Test("A record is described by time and event")
  func descriptions() {
    let rows: [Recorded<String>] = [.next(210, "a"), .error(220, Broken()), .completed(230)]
    #expect(rows.map(\.description) == ["210: next(a)", "220: error(Broken())", "230: completed"])
    #expect(Subscription(1, 2).description == "1...2")
    #expect(Subscription(1).description == "1...")
  }
}
