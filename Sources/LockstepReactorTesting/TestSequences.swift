import LockstepReactor
import Synchronization

/// A sequence whose events happen at their times, even without a reader.
public final class HotSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let subject = DispatchSubject<Event<Element>>()
  private let log: SubscriptionLog

  init(_ events: [Recorded<Element>], scheduler: TestScheduler) {
    log = SubscriptionLog(scheduler: scheduler)
    for row in events {
      scheduler.scheduleAt(row.time) { [subject] in subject.dispatch(row.event) }
    }
  }

  /// The readings so far, with their times.
  public var subscriptions: [Subscription] { log.subscriptions }

  /// Begins to read now.
  public func makeAsyncIterator() -> Iterator {
    Iterator(events: subject.events(capacity: .max).makeAsyncIterator(), reading: log.begin())
  }

  /// One reading.
  public struct Iterator: AsyncIteratorProtocol {
    var events: EventStream<Event<Element>>.Iterator
    let reading: Reading

    /// The next element; `nil` at the end; throws the error of an error event.
    public mutating func next() async throws -> Element? {
      if reading.hasEnded { return nil }
      return try reading.take(try await events.next() ?? .completed)
    }
  }
}

/// A sequence that starts again for each reader. Its times count from the start of the reading.
public final class ColdSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let timelines: [[Recorded<Element>]]
  private let scheduler: TestScheduler
  private let log: SubscriptionLog

  init(timelines: [[Recorded<Element>]], scheduler: TestScheduler) {
    self.timelines = timelines
    self.scheduler = scheduler
    log = SubscriptionLog(scheduler: scheduler)
  }

  /// The readings so far, with their times.
  public var subscriptions: [Subscription] { log.subscriptions }

  /// Begins to read now.
  public func makeAsyncIterator() -> Iterator {
    let reading = log.begin()
    let attempt = Swift.min(reading.number, timelines.count - 1)
    return Iterator(
      rows: timelines.isEmpty ? [] : timelines[attempt],
      start: scheduler.time,
      scheduler: scheduler,
      reading: reading
    )
  }

  /// One reading.
  public struct Iterator: AsyncIteratorProtocol {
    let rows: [Recorded<Element>]
    let start: Int
    let scheduler: TestScheduler
    let reading: Reading
    var position = 0

    /// The next element at its time; `nil` at the end; throws the error of an error event.
    public mutating func next() async throws -> Element? {
      if reading.hasEnded { return nil }
      guard position < rows.count else { return await never() }
      let row = rows[position]
      position += 1
      try await scheduler.clock.sleep(until: scheduler.instant(start + row.time))
      return try reading.take(row.event)
    }

    /// After the last event of a timeline without an end, waits until the reader is cancelled.
    private func never() async -> Element? {
      let silence = DispatchSubject<Never>()
      for await _ in silence.events().ignoringLosses {}
      return nil
    }
  }
}

final class SubscriptionLog: Sendable {
  private let scheduler: TestScheduler
  private let entries = Mutex<[Subscription]>([])

  init(scheduler: TestScheduler) {
    self.scheduler = scheduler
  }

  var subscriptions: [Subscription] { entries.withLock { $0 } }

  func begin() -> Reading {
    let time = scheduler.time
    let number = entries.withLock { entries in
      entries.append(Subscription(time))
      return entries.count - 1
    }
    return Reading(number: number, log: self)
  }

  /// Records the end of a reading. Only the first end counts.
  func end(_ number: Int) {
    let time = scheduler.time
    entries.withLock { $0[number] = Subscription($0[number].from, $0[number].to ?? time) }
  }
}

/// One reading of a sequence. It ends when the sequence ends or the reader releases it.
final class Reading: Sendable {
  let number: Int
  private let log: SubscriptionLog

  init(number: Int, log: SubscriptionLog) {
    self.number = number
    self.log = log
  }

  deinit { log.end(number) }

  var hasEnded: Bool { log.subscriptions[number].to != nil }

  func take<Element>(_ event: Event<Element>) throws -> Element? {
    if case .next(let element) = event { return element }
    log.end(number)
    if case .error(let error) = event { throw error }
    return nil
  }
}
