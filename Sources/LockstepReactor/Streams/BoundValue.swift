/// The newest element of a subject: replayed to each new watcher, then distinct.
///
/// It is up to date when `dispatch` returns, because no task is involved. Releasing it ends the
/// binding.
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

/// The elements of a subject as they are dispatched. None is replayed, and none is skipped because
/// it equals the one before.
public struct BoundEvents<Element: Sendable>: Sendable {
  private let subject: DispatchSubject<Element>

  /// Binds to a subject.
  public init(_ subject: DispatchSubject<Element>) {
    self.subject = subject
  }

  /// The events from this moment on; a bounded queue for each caller.
  public func events(capacity: Int = 256) -> EventStream<Element> {
    subject.events(capacity: capacity)
  }
}
