import Testing

/// Tests that read as tables of (time, event), in the manner of RxTest, for asynchronous sequences.
///
/// Describe the world first (sequences, observers, what happens when), then `start()`. Times are whole
/// ticks of a ``VirtualClock``. What is described first happens first when two things fall on one time.
///
///     let scheduler = TestScheduler()
///     let taps = scheduler.createHotSequence([.next(210, 1), .next(220, 2), .completed(230)])
///     let observer = scheduler.observe(taps)
///     scheduler.start()
///     #expect(observer.events == [.next(210, 1), .next(220, 2), .completed(230)])
public final class TestScheduler: Sendable {
  /// The time at which `observe` begins unless told: the habit of RxTest.
  public static let subscribed = 200
  /// The time at which `observe` ends unless told.
  public static let disposed = 1000

  /// The clock whose time the scheduler counts. Hand it to what is tested.
  public let clock: VirtualClock
  private let tick: Duration

  /// A scheduler at time zero.
  ///
  /// - Parameters:
  ///   - tick: How long one unit of its times is for the clock. One second unless told.
  ///   - clock: The clock, if several things share one.
  public init(tick: Duration = .seconds(1), clock: VirtualClock = VirtualClock()) {
    self.tick = tick
    self.clock = clock
  }

  /// The present time, in ticks.
  public var time: Int { Int(clock.now.offset / tick) }

  /// The instant of a time.
  public func instant(_ time: Int) -> VirtualClock.Instant {
    VirtualClock.Instant(offset: tick * time)
  }

  /// Does something at a time.
  public func scheduleAt(_ time: Int, _ action: @escaping @Sendable () async -> Void) {
    clock.start { [clock] in
      // It throws only if cancelled, and nobody has the task to cancel it.
      try? await clock.sleep(until: self.instant(time))
      await action()
    }
  }

  /// A sequence that happens whether or not anybody reads it: who comes late has missed something.
  public func createHotSequence<Element: Sendable>(_ events: [Recorded<Element>]) -> HotSequence<Element> {
    HotSequence(events, scheduler: self)
  }

  /// A sequence that begins anew for each reader, its times counted from the beginning of the reading.
  public func createColdSequence<Element: Sendable>(_ events: [Recorded<Element>]) -> ColdSequence<Element> {
    ColdSequence(events, scheduler: self)
  }

  /// A sequence whose first reading follows the first timeline, the second the second, and so on; the
  /// last is for all the rest. For testing what tries again.
  public func createColdSequence<Element: Sendable>(
    attempts timelines: [[Recorded<Element>]]
  ) -> ColdSequence<Element> {
    ColdSequence(timelines: timelines, scheduler: self)
  }

  /// An observer that records what it is told and when.
  public func createObserver<Element: Sendable>(_ type: Element.Type = Element.self) -> TestObserver<Element> {
    TestObserver(scheduler: self)
  }

  /// Reads a sequence from one time to another and records what comes.
  public func observe<Elements: AsyncSequence & Sendable>(
    _ elements: Elements,
    from: Int = TestScheduler.subscribed,
    until: Int? = TestScheduler.disposed
  ) -> TestObserver<Elements.Element> where Elements.Element: Sendable {
    let observer = createObserver(Elements.Element.self)
    bind(elements, to: observer, from: from, until: until)
    return observer
  }

  /// Reads a sequence from one time to another and tells an observer.
  public func bind<Elements: AsyncSequence & Sendable>(
    _ elements: Elements,
    to observer: TestObserver<Elements.Element>,
    from: Int = TestScheduler.subscribed,
    until: Int? = TestScheduler.disposed
  ) where Elements.Element: Sendable {
    run(from: from, until: until) { await observer.read(elements) }
  }

  /// Runs a task of the test's world from a time on, until it ends or `until` comes, which cancels it.
  public func run(from: Int = 0, until: Int? = TestScheduler.disposed, _ body: @escaping @Sendable () async -> Void) {
    scheduleAt(from) {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await body() }
        if let until {
          group.addTask { try? await self.clock.sleep(until: self.instant(until)) }
        }
        await group.next()
        group.cancelAll()
      }
    }
  }

  /// Lets everything happen, until nobody waits for a time any more.
  public func start(location: SourceLocation = #_sourceLocation) {
    clock.run(location: location)
  }

  /// Lets happen what happens up to a time, inclusive.
  public func advance(to time: Int, location: SourceLocation = #_sourceLocation) {
    clock.advance(to: instant(time), location: location)
  }
}
