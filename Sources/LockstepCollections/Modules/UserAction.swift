import LockstepTime

/// An action of any module on one collection of a user.
package struct UserAction: Sendable {
  /// The collection that the action changes.
  package let collection: CollectionName
  /// The journal's record of the action, in JSON: `{"type": …, "payload": …}`. It is encoded before
  /// the action reaches the writer thread, to save that thread's time.
  package let record: String
  /// Whether it erases the data of a collection whose deletion has begun.
  package var isErasure = false
  /// The version of the declaration by which the action was read. Nil: any.
  package var version: DeclaredVersion?
  /// Calls the module's reactor. Throws the reactor's refusal.
  package let decide: @Sendable (ActionContext) throws -> [CollectionMutation]

  package init(
    collection: CollectionName,
    record: String,
    decide: @escaping @Sendable (ActionContext) throws -> [CollectionMutation]
  ) {
    self.collection = collection
    self.record = record
    self.decide = decide
  }
}

/// The data that a reactor may use for a decision, besides the collection of the action.
public struct ActionContext: Sendable {
  /// The user's state, with the changes of earlier actions in the same transaction.
  package let state: UserState
  package let registered: RegisteredDefaults
  /// The time of the transaction. Reactors must use it instead of a clock.
  public let now: Timestamp
  /// The budget of the transaction. Nil: each value may take as much work as it needs, up to its own
  /// limit.
  package let budget: WorkBudget?

  package init(state: UserState, registered: RegisteredDefaults, now: Timestamp, budget: WorkBudget? = nil) {
    self.state = state
    self.registered = registered
    self.now = now
    self.budget = budget
  }

  /// Another list of the same user, such as `favorites`, with the changes of earlier actions in the
  /// same transaction. A list that does not exist is empty.
  public func list(_ collection: String) -> ListState { state.list(CollectionName(text: collection)) }

  /// The values that the user has set in another map, such as `profile` or `defaults/standard`. A
  /// map that does not exist is empty.
  public func map(_ collection: String) -> MapState { state.map(CollectionName(text: collection)) }
}
