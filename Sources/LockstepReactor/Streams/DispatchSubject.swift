/// A typed channel that sends each element to all of its subscribers.
///
/// All subscribers get the elements in the same order. `dispatch` runs no code of the subscribers
/// and never waits for them. Each subscriber has a bounded queue (``events(capacity:)``) or a slot
/// for the newest element (``BoundValue``).
public final class DispatchSubject<Element: Sendable>: Sendable {
  /// The tasks to wake after a dispatch has released its locks.
  struct Delivery: Sendable {
    fileprivate let received: [(replaced: (any Sendable)?, wake: Wake)]

    func complete() {
      for receipt in received { receipt.wake.resume() }
    }
  }

  private struct Subscribers: Sendable {
    var list = NumberedList<any SubjectSubscriber<Element>>()
    var nextID = 0
    var isFinished = false
  }

  private let subscribers = AwaitableState(Subscribers())

  /// Makes a subject. Elements dispatched without a subscriber are dropped.
  public init() {}

  /// Sends `element` to the current subscribers.
  public func dispatch(_ element: Element) { dispatchDeferringWake(element).complete() }

  /// Dispatches without waking tasks, for a caller that holds another lock.
  func dispatchDeferringWake(_ element: Element) -> Delivery {
    subscribers.withState { subscribers in
      Delivery(received: subscribers.list.members.map { $0.receive(element) })
    }
  }

  /// Ends every stream after its queued elements. Later elements are dropped.
  public func finish() {
    let wakes = subscribers.withState { subscribers in
      subscribers.isFinished = true
      defer { subscribers.list = NumberedList() }
      return subscribers.list.members.map { $0.finishDeferringWake() }
    }
    for wake in wakes { wake.resume() }
  }

  /// Subscribes *now*, not when the first element is awaited, so no later element is missed.
  ///
  /// `capacity` is how many events may wait for a slow reader. If more events come, the oldest is
  /// dropped and the reader gets an ``EventsLostError``.
  public func events(capacity: Int = 256) -> EventStream<Element> {
    EventStream(subscription: SubjectSubscription(of: EventQueue(capacity: capacity), to: self))
  }

  /// The number of subscribers, for tests and metrics.
  public var subscriberCount: Int { subscribers.withState(\.list.count) }

  fileprivate func subscribe(_ subscriber: any SubjectSubscriber<Element>) -> Int {
    let (id, wake) = subscribers.withState { subscribers -> (Int, Wake?) in
      let id = subscribers.nextID
      subscribers.nextID += 1
      if subscribers.isFinished { return (id, subscriber.finishDeferringWake()) }
      subscribers.list.insert(subscriber, number: id)
      return (id, nil)
    }
    wake?.resume()
    return id
  }

  fileprivate func unsubscribe(_ id: Int) {
    // Releases the subscriber after the lock, because that may run a deinitializer.
    let removed = subscribers.withState { $0.list.remove(number: id) }
    withExtendedLifetime(removed) {}
  }
}

/// Stores the elements of a subject. Both functions return the tasks to wake after the lock of the
/// subject is released.
protocol SubjectSubscriber<Element>: Sendable {
  associatedtype Element: Sendable

  /// Also returns the value that `element` replaced, to release it after the lock.
  func receive(_ element: Element) -> (replaced: (any Sendable)?, wake: Wake)

  func finishDeferringWake() -> Wake
}

/// A subscription, which ends when it is released.
final class SubjectSubscription<Target: SubjectSubscriber>: Sendable {
  let target: Target
  private let subject: DispatchSubject<Target.Element>
  private let id: Int

  init(of target: Target, to subject: DispatchSubject<Target.Element>) {
    self.target = target
    self.subject = subject
    id = subject.subscribe(target)
  }

  deinit { subject.unsubscribe(id) }
}
