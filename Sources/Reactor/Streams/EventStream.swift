/// The events of one subscriber, in order, from the moment it subscribed.
///
/// It is a bounded queue: when the reader lags by more than its capacity the *oldest* events are
/// dropped and counted in `lostCount`. One stream has one reader; whoever else wants the events
/// subscribes for themselves. Letting go of the stream ends the subscription.
public struct EventStream<Element: Sendable>: AsyncSequence, Sendable {
  /// Reading cannot fail.
  public typealias Failure = Never

  let subscription: EventSubscription<Element>

  /// How many events were dropped because the reader was too slow.
  public var lostCount: Int {
    subscription.queue.lostCount
  }

  /// The reader. A second iterator of the same stream shares the queue with the first.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscription)
  }

  /// Takes events from the queue.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: EventSubscription<Element>

    /// The next event; `nil` when the source has finished or the task was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await subscription.queue.next(isolation: actor)
    }

    /// The next event; `nil` when the source has finished or the task was cancelled.
    public mutating func next() async -> Element? {
      await next(isolation: nil)
    }
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
    var isFinished = false
  }

  private let buffer: Monitor<Buffer>

  init(capacity: Int) {
    buffer = Monitor(Buffer(capacity: Swift.max(1, capacity)))
  }

  var lostCount: Int {
    buffer.withState(\.lost)
  }

  /// The dropped event is handed back so that it is released after the lock.
  func offerDeferringWake(_ element: Element) -> (dropped: Element?, wake: Wake) {
    buffer.changeDeferringWake { buffer in
      let isFull = buffer.elements.count >= buffer.capacity
      let dropped = isFull ? buffer.elements.removeFirst() : nil
      if isFull { buffer.lost += 1 }
      buffer.elements.append(element)
      return dropped
    }
  }

  func finishDeferringWake() -> Wake {
    buffer.changeDeferringWake { $0.isFinished = true }.1
  }

  func next(isolation: isolated (any Actor)?) async -> Element? {
    let next = await buffer.wait(isolation: isolation) { buffer -> Element?? in
      if let element = buffer.elements.removeFirst() { return element }
      return buffer.isFinished ? .some(nil) : nil
    }
    return next ?? nil
  }
}
