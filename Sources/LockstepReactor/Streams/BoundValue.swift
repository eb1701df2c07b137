/// The newest element of a subject: replayed to each new watcher, then distinct.
///
/// It is up to date when `dispatch` returns, because no task is involved. Releasing it ends the
/// binding.
public final class BoundValue<Value: Sendable & Equatable>: Sendable {
  private let latest: Latest<Value>
  private let unbind: @Sendable () -> Void

  /// Binds to a subject. The value is `initial` until the first dispatch.
  public init(_ subject: DispatchSubject<Value>, initial: Value) {
    let latest = Latest(initial)
    let id = subject.subscribe(
      receive: { value in
        let (replaced, wake) = latest.publishDeferringWake(value)
        return (replaced, wake)
      },
      finish: { latest.finishDeferringWake() }
    )
    self.latest = latest
    unbind = { subject.unsubscribe(id) }
  }

  deinit {
    unbind()
    latest.finish()
  }

  /// The newest value.
  public var value: Value { latest.value }

  /// The newest value at once, then each newer one that differs.
  public var values: LatestValues<Value> { latest.values }
}

/// The elements of a subject as they are dispatched. They are never replayed, and equal ones are
/// kept.
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
