import Testing

/// Tests asynchronous sequences with tables of times and events, as RxTest does.
///
/// First create the sequences and observers and schedule the actions, then call `start()`. Times
/// are whole ticks of a ``VirtualClock``. Events of the same time happen in the order in which they
/// were created.
///
///     let scheduler = TestScheduler()
///     let taps = scheduler.createHotSequence([.next(210, 1), .next(220, 2), .completed(230)])
///     let observer = scheduler.observe(taps)
///     scheduler.start()
///     #expect(observer.events == [.next(210, 1), .next(220, 2), .completed(230)])
public final class TestScheduler: Sendable {
  /// The default time at which `observe` begins, as in RxTest.
  public static let subscribed = 200
  /// The default time at which `observe` ends.
  public static let disposed = 1000

  /// The clock whose time the scheduler counts in ticks. Pass it to the code under test.
  public let clock: VirtualClock
  private let tick: Duration

  /// Makes a scheduler at time zero. `tick` is the duration of one unit of its times.
  public init(tick: Duration = .seconds(1), clock: VirtualClock = VirtualClock()) {
    self.tick = tick
    self.clock = clock
  }

  /// The current time, in ticks.
  public var time: Int { Int(clock.now.offset / tick) }

  /// The clock's instant for a time in ticks.
  public func instant(_ time: Int) -> VirtualClock.Instant {
    VirtualClock.Instant(offset: tick * time)
  }

  /// Runs `action` at `time`.
  public func scheduleAt(_ time: Int, _ action: @escaping @Sendable () async -> Void) {
    clock.start { [clock] in
      // Sleeping throws only when cancelled, and nothing cancels this task.
      try? await clock.sleep(until: self.instant(time))
      await action()
    }
  }

  /// A sequence whose events happen even without a reader. A late reader misses events.
  public func createHotSequence<Element: Sendable>(_ events: [Recorded<Element>]) -> HotSequence<Element> {
    HotSequence(events, scheduler: self)
  }

  /// A sequence that starts again for each reader. Its times count from the start of the reading.
  public func createColdSequence<Element: Sendable>(_ events: [Recorded<Element>]) -> ColdSequence<Element> {
    ColdSequence(timelines: [events], scheduler: self)
  }

  /// A sequence with a timeline for each reading, to test retries. The last timeline repeats.
  public func createColdSequence<Element: Sendable>(
    attempts timelines: [[Recorded<Element>]]
  ) -> ColdSequence<Element> {
    ColdSequence(timelines: timelines, scheduler: self)
  }

  /// An observer that records events with their times.
  public func createObserver<Element: Sendable>(_ type: Element.Type = Element.self) -> TestObserver<Element> {
    TestObserver(scheduler: self)
  }

  /// Reads a sequence from one time to another and records its events.
  public func observe<Elements: AsyncSequence & Sendable>(
    _ elements: Elements,
    from: Int = TestScheduler.subscribed,
    until: Int? = TestScheduler.disposed
  ) -> TestObserver<Elements.Element> where Elements.Element: Sendable {
    let observer = createObserver(Elements.Element.self)
    bind(elements, to: observer, from: from, until: until)
    return observer
  }

  /// Reads a sequence from one time to another into an observer.
  public func bind<Elements: AsyncSequence & Sendable>(
    _ elements: Elements,
    to observer: TestObserver<Elements.Element>,
    from: Int = TestScheduler.subscribed,
    until: Int? = TestScheduler.disposed
  ) where Elements.Element: Sendable {
    run(from: from, until: until) { await observer.read(elements) }
  }

  /// Starts `body` at `from` and cancels it at `until`.
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

  /// Runs until no task sleeps.
  public func start(location: SourceLocation = #_sourceLocation) {
    clock.run(location: location)
  }

  /// Runs until `time`. Tasks that sleep until then wake.
  public func advance(to time: Int, location: SourceLocation = #_sourceLocation) {
    clock.advance(to: instant(time), location: location)
  }
}
