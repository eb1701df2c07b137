/// A group of subjects through which one part of a program announces what happened.
///
///     struct PlayerDispatcher: Dispatcher {
///       let loading = DispatchSubject<Bool>()
///       let errors = DispatchSubject<any Error>()
///       let players = DispatchSubject<Player>()
///     }
///
/// Action creators dispatch, stores bind: facts flow one way. Make one where the program is put
/// together and hand it to both; nothing here is global.
public protocol Dispatcher: Sendable {}

/// The reading side of Flux: values and events bound to the subjects of a dispatcher.
///
///     final class PlayerStore: Store {
///       let isLoading: BoundValue<Bool>
///       let errors: BoundEvents<any Error>
///       init(dispatcher: PlayerDispatcher) {
///         isLoading = BoundValue(dispatcher.loading, initial: false)
///         errors = BoundEvents(dispatcher.errors)
///       }
///     }
public protocol FluxStore: AnyObject, Sendable {
  /// The dispatcher whose subjects the store binds.
  associatedtype Source: Dispatcher

  /// Binds the store; from here on it misses nothing.
  init(dispatcher: Source)
}

/// The newest element of a subject: replayed to each new watcher, then distinct.
///
/// It is up to date when `dispatch` returns: no task lies between. The binding ends with the value.
public final class BoundValue<Value: Sendable & Equatable>: Sendable {
  private let latest: Latest<Value>
  private let unbind: @Sendable () -> Void

  /// Binds to a subject; `initial` stands until something is dispatched.
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

/// The elements of a subject as they come: never replayed, never merged, also when equal.
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
