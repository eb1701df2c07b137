/// The interface of a reactor for a view: sending actions and reading states.
///
/// A view that takes `some ViewModel<Action, State>` works with a ``ReactorHost``. A test of only
/// the view passes a stub that records the actions and shows any state.
public protocol ViewModel<Action, State>: AnyObject, Sendable {
  /// An action that the view sends.
  associatedtype Action: Sendable
  /// The state that the view shows.
  associatedtype State: Sendable & Equatable

  /// Queues an action.
  @discardableResult
  func send(_ action: Action) -> SendResult

  /// The newest state.
  var currentState: State { get }

  /// The latest state at once, then each newer one that differs.
  var states: LatestValues<State> { get }
}
