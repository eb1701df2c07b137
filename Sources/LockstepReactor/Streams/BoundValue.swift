/// The newest element of a subject. A new watcher gets it at once, then each one that differs.
///
/// `value` is up to date when `dispatch` returns, because no task is involved. Releasing the
/// `BoundValue` ends the binding.
public final class BoundValue<Value: Sendable & Equatable>: Sendable {
  private let subscription: SubjectSubscription<Latest<Value>>

  /// Binds to a subject. The value is `initial` until the first dispatch.
  public init(_ subject: DispatchSubject<Value>, initial: Value) {
    subscription = SubjectSubscription(of: Latest(initial), to: subject)
  }

  deinit { subscription.target.finish() }

  /// The newest value.
  public var value: Value { subscription.target.value }

  /// The newest value at once, then each newer one that differs.
  public var values: LatestValues<Value> { subscription.target.values }
}

extension Latest: SubjectSubscriber {
  func receive(_ value: Value) -> (replaced: (any Sendable)?, wake: Wake) {
    let (replaced, wake) = publishDeferringWake(value)
    return (replaced, wake)
  }
}

/// The elements of a subject as they are dispatched. Earlier elements are not replayed. An element
/// that equals the one before is not skipped.
public struct BoundEvents<Element: Sendable>: Sendable {
  private let subject: DispatchSubject<Element>

  /// Binds to a subject.
  public init(_ subject: DispatchSubject<Element>) {
    self.subject = subject
  }

  /// The events from now on. Each call returns a new bounded queue.
  public func events(capacity: Int = 256) -> EventStream<Element> {
    subject.events(capacity: capacity)
  }
}
