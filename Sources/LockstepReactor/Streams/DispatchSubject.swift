/// A typed channel that sends each element to all of its subscribers.
///
/// `dispatch` is synchronous and fixes the order: all subscribers see all elements in the same
/// order. Dispatching runs no code of the subscribers and never waits for them. Each subscriber has
/// a bounded queue (``events(capacity:)``) or a slot for the newest element (``BoundValue``).
public final class DispatchSubject<Element: Sendable>: Sendable {
  /// Stores an element for a subscriber. Returns the tasks to wake, and a value to release after
  /// the lock.
  typealias Sink = @Sendable (Element) -> (garbage: (any Sendable)?, wake: Wake)

  /// The tasks to wake after a dispatch, when no lock is held.
  struct Delivery: Sendable {
    fileprivate let received: [(garbage: (any Sendable)?, wake: Wake)]

    func complete() {
      for receipt in received { receipt.wake.resume() }
    }
  }

  private struct Subscriber: Sendable {
    let receive: Sink
    let finish: @Sendable () -> Wake
  }

  private struct Subscribers: Sendable {
    var list = NumberedList<Subscriber>()
    var nextID = 0
    var isFinished = false
  }

  private let subscribers = AwaitableState(Subscribers())

  /// Makes a subject. Elements dispatched without a subscriber are dropped.
  public init() {}

  /// Sends `element` to the current subscribers.
  public func dispatch(_ element: Element) {
    dispatchDeferringWake(element).complete()
  }

  /// Dispatches without waking tasks, for a caller that holds a lock of its own.
  func dispatchDeferringWake(_ element: Element) -> Delivery {
    subscribers.withState { subscribers in
      Delivery(received: subscribers.list.members.map { $0.receive(element) })
    }
  }

  /// Ends every stream after its queued elements. Later elements are dropped.
  public func finish() {
    let wakes = subscribers.withState { subscribers in
      subscribers.isFinished = true
      let wakes = subscribers.list.members.map { $0.finish() }
      subscribers.list = NumberedList()
      return wakes
    }
    for wake in wakes { wake.resume() }
  }

  /// Subscribes *now*, not when the first element is awaited, so no element is missed.
  ///
  /// `capacity` is how many events may wait for a slow reader. Beyond it the oldest is dropped and
  /// the reader gets an ``EventsLostError``.
  public func events(capacity: Int = 256) -> EventStream<Element> {
    let queue = EventQueue<Element>(capacity: capacity)
    let id = subscribe(
      receive: { element in
        let (dropped, wake) = queue.offerDeferringWake(element)
        return (dropped, wake)
      },
      finish: { queue.finishDeferringWake() }
    )
    let subscription = EventSubscription(queue: queue) { [self] in unsubscribe(id) }
    return EventStream(subscription: subscription)
  }

  /// The number of subscribers, for tests and metrics.
  public var subscriberCount: Int {
    subscribers.withState(\.list.count)
  }

  func subscribe(receive: @escaping Sink, finish: @escaping @Sendable () -> Wake) -> Int {
    let (id, wake) = subscribers.withState { subscribers -> (Int, Wake?) in
      let id = subscribers.nextID
      subscribers.nextID += 1
      if subscribers.isFinished { return (id, finish()) }
      subscribers.list.insert(Subscriber(receive: receive, finish: finish), number: id)
      return (id, nil)
    }
    wake?.resume()
    return id
  }

  func unsubscribe(_ id: Int) {
    // Released after the lock, because releasing a subscriber may run a deinitializer.
    let removed = subscribers.withState { $0.list.remove(number: id) }
    withExtendedLifetime(removed) {}
  }
}
