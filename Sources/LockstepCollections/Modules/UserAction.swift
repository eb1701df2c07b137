import LockstepTime

/// An action that one of a user's collections is asked to take, whichever module it belongs to.
package struct UserAction: Sendable {
  /// What a decision may look at besides the collection itself.
  package struct Surroundings: Sendable {
    /// The user's state, with what earlier actions of the same transaction did to it.
    package let state: UserState
    /// What the app has registered for everybody.
    package let registered: RegisteredDefaults
    /// When the transaction takes place.
    package let now: Timestamp

    package init(state: UserState, registered: RegisteredDefaults, now: Timestamp) {
      self.state = state
      self.registered = registered
      self.now = now
    }
  }

  /// Which collection.
  package let collection: CollectionName
  /// The action as the journal tells it, in JSON: `{"type": …, "payload": …}`. Written where the action is made, so that
  /// the writer's thread needn't.
  package let record: String
  /// Asks the module's reactor. Throws its refusal.
  package let decide: @Sendable (Surroundings) throws -> [CollectionMutation]

  /// An action on its way to a collection.
  package init(
    collection: CollectionName,
    record: String,
    decide: @escaping @Sendable (Surroundings) throws -> [CollectionMutation]
  ) {
    self.collection = collection
    self.record = record
    self.decide = decide
  }
}
