/// What a view needs of a reactor: to send actions, and to see states.
///
/// A view that asks for `some ViewModel<Action, State>` can be given a ``ReactorHost`` or, in a test
/// of the view alone, a stub that records the actions and shows any state.
public protocol ViewModel<Action, State>: AnyObject, Sendable {
  /// What the view asks for.
  associatedtype Action: Sendable
  /// What the view shows.
  associatedtype State: Sendable & Equatable

  /// Queues an action.
  @discardableResult
  func send(_ action: Action) -> Admission

  /// The state that was shown last.
  var currentState: State { get }

  /// The latest state at once, then each newer one that differs.
  var states: LatestValues<State> { get }
}
