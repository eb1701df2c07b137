/// A typed channel through which facts are announced to everybody who subscribed.
///
/// The order is fixed by `dispatch`, which is synchronous: every subscriber sees the elements of
/// all senders in the same order. Dispatching runs no code of the subscribers and never waits for
/// them; each has a bounded queue (`events()`) or a slot for the newest (`BoundValue`).
public final class DispatchSubject<Element: Sendable>: Sendable {
  /// Puts an element where a subscriber will find it; hands back whom to wake, and garbage to be
  /// released after the lock.
  typealias Sink = @Sendable (Element) -> (garbage: (any Sendable)?, wake: Wake)

  /// What is left to do when an element has been put everywhere, and no lock is held any more.
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

  /// A subject that nobody listens to yet. What is dispatched to nobody is gone.
  public init() {}

  /// Announces `element` to everybody subscribed at this moment.
  public func dispatch(_ element: Element) {
    dispatchDeferringWake(element).complete()
  }

  /// Announces without waking anybody, for a caller that holds a lock of its own.
  func dispatchDeferringWake(_ element: Element) -> Delivery {
    subscribers.withState { subscribers in
      Delivery(received: subscribers.list.members.map { $0.receive(element) })
    }
  }

  /// Ends every stream after what it still holds. Later elements are gone.
  public func finish() {
    let wakes = subscribers.withState { subscribers in
      subscribers.isFinished = true
      let wakes = subscribers.list.members.map { $0.finish() }
      subscribers.list = NumberedList()
      return wakes
    }
    for wake in wakes { wake.resume() }
  }

  /// Subscribes *now*, not when the first element is awaited, so nothing falls between.
  ///
  /// `capacity` is how many events may wait for a slow reader before the oldest is dropped, and the
  /// reader told so.
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

  /// How many subscribers there are, for tests and metrics.
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
    // The subscriber is released after the lock: its end may run a deinitializer.
    let removed = subscribers.withState { $0.list.remove(number: id) }
    withExtendedLifetime(removed) {}
  }
}
