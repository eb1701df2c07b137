/// A group of subjects to which one part of a program dispatches.
///
///     struct PlayerDispatcher: Dispatcher {
///       let loading = DispatchSubject<Bool>()
///       let errors = DispatchSubject<any Error>()
///       let players = DispatchSubject<Player>()
///     }
///
/// Action creators dispatch and stores bind, so data flows one way. Make a dispatcher where the
/// program is composed, and pass it to both.
public protocol Dispatcher: Sendable {}

/// The reading side of Flux: values and events bound to the subjects of a dispatcher.
///
///     final class PlayerStore: FluxStore {
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

  /// Binds the store. It misses no later element.
  init(dispatcher: Source)
}
