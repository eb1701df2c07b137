import LockstepTime

/// The data that a decision may use besides the state of its own collection.
public struct ActionContext: Sendable {
  private let surroundings: UserAction.Surroundings

  init(_ surroundings: UserAction.Surroundings) {
    self.surroundings = surroundings
  }

  /// The time of the transaction. Reactors read no clock.
  public var now: Timestamp { surroundings.now }

  /// Another list of the same user, such as `favorites`, with the changes of earlier actions in the
  /// same transaction. It is empty if it does not exist.
  public func list(_ collection: String) -> ListState { surroundings.state.list(CollectionName(text: collection)) }

  /// The values that the user has set in another map, such as `profile` or `defaults/standard`. The
  /// map is empty if it does not exist.
  public func map(_ collection: String) -> MapState { surroundings.state.map(CollectionName(text: collection)) }
}
