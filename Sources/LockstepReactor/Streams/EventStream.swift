/// The events of one subscriber, in order, from the moment it subscribed.
///
/// It is a bounded queue. Announcing never waits for a reader, so when one lags by more than its
/// capacity the *oldest* events are dropped, and the reader is told where the gap is: there the
/// sequence throws ``EventsLostError``. It can be read on behind the gap, by another loop over the same
/// stream. Who can do with gaps reads `ignoringLosses`.
///
/// One stream has one reader; whoever else wants the events subscribes for themselves. Letting go of
/// the stream ends the subscription.
public struct EventStream<Element: Sendable>: AsyncSequence, Sendable {
  /// Reading fails only where events were lost.
  public typealias Failure = EventsLostError

  let subscription: EventSubscription<Element>

  /// How many events were dropped so far because the reader was too slow.
  public var lostCount: Int {
    subscription.queue.lostCount
  }

  /// The same events, read on over every gap: for who shows or logs what is newest.
  public var ignoringLosses: EventsWithGaps<Element> {
    EventsWithGaps(events: self)
  }

  /// The reader. A second iterator of the same stream shares the queue with the first.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscription)
  }

  /// Takes events from the queue.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: EventSubscription<Element>

    /// The next event; `nil` when the source has finished or the task was cancelled.
    ///
    /// Throws once for each gap, and gives what came after it when it is asked again.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventsLostError) -> Element? {
      try await subscription.queue.next(isolation: actor)
    }
  }
}

/// Events were dropped because their reader lagged by more than the capacity of its stream.
public struct EventsLostError: Error, Hashable, CustomStringConvertible {
  /// How many, in this one gap.
  public let count: Int

  /// A gap of so many events.
  public init(count: Int) {
    self.count = count
  }

  /// What happened and what to do.
  public var description: String {
    "\(count) \(count == 1 ? "event was" : "events were") lost because the reader was too slow; "
      + "subscribe with a larger capacity, or load anew what the events were about"
  }
}

/// Keeps a subscription alive, and ends it when nobody holds the stream any more.
final class EventSubscription<Element: Sendable>: Sendable {
  let queue: EventQueue<Element>
  private let cancel: @Sendable () -> Void

  init(queue: EventQueue<Element>, cancel: @escaping @Sendable () -> Void) {
    self.queue = queue
    self.cancel = cancel
  }

  deinit { cancel() }
}

/// A bounded first-in-first-out queue that one task waits on.
final class EventQueue<Element: Sendable>: Sendable {
  private struct Buffer: Sendable {
    let capacity: Int
    var elements = FirstInFirstOut<Element>()
    var lost = 0
    /// How many of the lost the reader was not told of.
    var untold = 0
    var isFinished = false
  }

  private let buffer: AwaitableState<Buffer>

  init(capacity: Int) {
    buffer = AwaitableState(Buffer(capacity: Swift.max(1, capacity)))
  }

  var lostCount: Int {
    buffer.withState(\.lost)
  }

  /// The dropped event is handed back so that it is released after the lock.
  func offerDeferringWake(_ element: Element) -> (dropped: Element?, wake: Wake) {
    buffer.changeDeferringWake { buffer in
      let isFull = buffer.elements.count >= buffer.capacity
      let dropped = isFull ? buffer.elements.removeFirst() : nil
      if isFull {
        buffer.lost += 1
        buffer.untold += 1
      }
      buffer.elements.append(element)
      return dropped
    }
  }

  func finishDeferringWake() -> Wake {
    buffer.changeDeferringWake { $0.isFinished = true }.1
  }

  func next(isolation: isolated (any Actor)?) async throws(EventsLostError) -> Element? {
    let next = await buffer.wait(isolation: isolation) { buffer -> Result<Element?, EventsLostError>? in
      // What is left came after the gap, so the gap comes first.
      if buffer.untold > 0 {
        defer { buffer.untold = 0 }
        return .failure(EventsLostError(count: buffer.untold))
      }
      if let element = buffer.elements.removeFirst() { return .success(element) }
      return buffer.isFinished ? .success(nil) : nil
    }
    return try next?.get()
  }
}
