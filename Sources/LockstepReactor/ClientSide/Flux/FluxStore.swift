/// A group of subjects to which one part of a program dispatches.
///
///     struct PlayerDispatcher: Dispatcher {
///       let loading = DispatchSubject<Bool>()
///       let errors = DispatchSubject<any Error>()
///       let players = DispatchSubject<Player>()
///     }
///
/// Action creators dispatch and stores bind, so data flows one way. Make one dispatcher and pass it
/// to the action creators and the stores.
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

  /// Binds the store to the dispatcher's subjects. The store misses no later element.
  init(dispatcher: Source)
}
