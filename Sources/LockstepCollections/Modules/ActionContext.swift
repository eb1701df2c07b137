import LockstepTime

/// What the decision on an action may look at besides the state that it's about.
public struct ActionContext: Sendable {
  private let surroundings: UserAction.Surroundings

  init(_ surroundings: UserAction.Surroundings) {
    self.surroundings = surroundings
  }

  /// When the transaction takes place. A reactor asks no clock.
  public var now: Timestamp { surroundings.now }

  /// Another list of the same user, such as `favorites`; empty where there is none. It's as the actions before this one in the
  /// same transaction have left it.
  public func list(_ collection: String) -> ListState { surroundings.state.list(CollectionName(text: collection)) }

  /// Another map of the same user, such as `profile` or `defaults/standard`, with what the user has set; empty where there is
  /// none.
  public func map(_ collection: String) -> MapState { surroundings.state.map(CollectionName(text: collection)) }
}
