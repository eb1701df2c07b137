/// The events of one subscriber, in order, from the moment it subscribed.
///
/// It is a bounded queue. Dispatching never waits for a reader. When a reader lags by more than the
/// capacity, the *oldest* events are dropped and the sequence throws ``EventsLostError`` at the
/// gap. A new loop over the stream continues after the gap. If gaps do not matter, use
/// ``ignoringLosses``.
///
/// A stream has one reader; subscribe again for a second one. Releasing the stream and its
/// iterators ends the subscription.
public struct EventStream<Element: Sendable>: AsyncSequence, Sendable {
  /// Reading fails only if events were lost.
  public typealias Failure = EventsLostError

  let subscription: SubjectSubscription<EventQueue<Element>>

  /// How many events were dropped because the reader was too slow.
  public var lostCount: Int { subscription.target.lostCount }

  /// The same events without errors at gaps, for views or logs that show only the newest.
  public var ignoringLosses: some AsyncSequence<Element, Never> & Sendable {
    SteppedSequence(start: makeAsyncIterator) { events, actor in
      while true {
        do { return try await events.next(isolation: actor) } catch { continue }
      }
    }
  }

  /// The reader. A second iterator of the same stream shares the queue with the first.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// Takes events from the queue.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: SubjectSubscription<EventQueue<Element>>

    /// The next event; `nil` when the source has finished or the task was cancelled. Throws once
    /// for each gap; the next call returns the event after the gap.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventsLostError) -> Element? {
      try await subscription.target.next(isolation: actor)
    }
  }
}

/// Events were dropped because their reader lagged by more than the capacity of its stream.
public struct EventsLostError: Error, Hashable, CustomStringConvertible {
  /// How many events were lost in this gap.
  public let count: Int

  /// Makes an error for a gap.
  public init(count: Int) {
    self.count = count
  }

  /// The cause, and what to do.
  public var description: String {
    "\(count) \(count == 1 ? "event was" : "events were") lost because the reader was too slow. "
      + "Subscribe with a larger capacity, or load the data of the events again."
  }
}

/// A bounded first-in-first-out queue that one task waits on.
final class EventQueue<Element: Sendable>: SubjectSubscriber {
  private struct Buffer: Sendable {
    let capacity: Int
    var elements = FirstInFirstOut<Element>()
    var lost = 0
    /// How many of the lost events are not reported to the reader yet.
    var unreported = 0
    var isFinished = false
  }

  private let buffer: AwaitableState<Buffer>

  init(capacity: Int) {
    buffer = AwaitableState(Buffer(capacity: Swift.max(1, capacity)))
  }

  var lostCount: Int { buffer.withState(\.lost) }

  func receive(_ element: Element) -> (replaced: (any Sendable)?, wake: Wake) {
    let (dropped, wake) = buffer.changeDeferringWake { buffer -> Element? in
      defer { buffer.elements.append(element) }
      guard buffer.elements.count >= buffer.capacity else { return nil }
      buffer.lost += 1
      buffer.unreported += 1
      return buffer.elements.removeFirst()
    }
    return (dropped, wake)
  }

  func finishDeferringWake() -> Wake {
    buffer.changeDeferringWake { $0.isFinished = true }.1
  }

  func next(isolation: isolated (any Actor)?) async throws(EventsLostError) -> Element? {
    let next = await buffer.wait(isolation: isolation) { buffer -> Result<Element?, EventsLostError>? in
      // The events in the queue came after the gap.
      if buffer.unreported > 0 {
        defer { buffer.unreported = 0 }
        return .failure(EventsLostError(count: buffer.unreported))
      }
      if let element = buffer.elements.removeFirst() { return .success(element) }
      return buffer.isFinished ? .success(nil) : nil
    }
    return try next?.get()
  }
}
