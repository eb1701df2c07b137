import LockstepTime

/// An action on one of a user's collections, of any module.
package struct UserAction: Sendable {
  /// The data that a decision may use besides the collection itself.
  package struct Surroundings: Sendable {
    /// The user's state, with the changes of earlier actions in the same transaction.
    package let state: UserState
    /// The registered defaults.
    package let registered: RegisteredDefaults
    /// The time of the transaction.
    package let now: Timestamp

    package init(state: UserState, registered: RegisteredDefaults, now: Timestamp) {
      self.state = state
      self.registered = registered
      self.now = now
    }
  }

  /// The collection that the action changes.
  package let collection: CollectionName
  /// The journal's record of the action, in JSON: `{"type": …, "payload": …}`. It is encoded where
  /// the action is created, so that the writer thread does not have to.
  package let record: String
  /// Asks the module's reactor. Throws its refusal.
  package let decide: @Sendable (Surroundings) throws -> [CollectionMutation]

  /// Creates an action on a collection.
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
