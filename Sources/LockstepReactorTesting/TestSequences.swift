import LockstepReactor
import Synchronization

/// A sequence whose events happen at their times, with or without a reader.
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
      switch try await events.next() {
      case .next(let element):
        return element
      case .error(let error):
        reading.end()
        throw error
      case .completed, nil:
        reading.end()
        return nil
      }
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
      switch row.event {
      case .next(let element):
        return element
      case .error(let error):
        reading.end()
        throw error
      case .completed:
        reading.end()
        return nil
      }
    }

    /// A timeline without an end waits until its reader is cancelled.
    private func never() async -> Element? {
      let silence = DispatchSubject<Never>()
      for await _ in silence.events().ignoringLosses {}
      return nil
    }
  }
}

/// The subscriptions of one sequence.
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

  func end(_ number: Int) {
    let time = scheduler.time
    entries.withLock { $0[number] = Subscription($0[number].from, time) }
  }
}

/// One reading of a sequence. It ends when the sequence ends or the reader releases it.
final class Reading: Sendable {
  let number: Int
  private let log: SubscriptionLog
  private let ended = Mutex(false)

  init(number: Int, log: SubscriptionLog) {
    self.number = number
    self.log = log
  }

  deinit { end() }

  var hasEnded: Bool { ended.withLock { $0 } }

  func end() {
    let isFirst = ended.withLock { ended in
      defer { ended = true }
      return !ended
    }
    if isFirst { log.end(number) }
  }
}
