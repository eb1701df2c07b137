import LockstepJSON
import LockstepReactor
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

extension Reactor {
  /// What an action does to a state at once. A reactor whose state is committed takes no time over an action: whatever
  /// took time would hold up every other write.
  package func decision(on action: Action, in state: State) throws -> [Mutation] {
    switch mutate(action, in: state).immediateMutations {
    case .success(let mutations): return mutations
    // Nothing cancels a decision: passed on, it would be taken for a server that stops.
    case .failure(is CancellationError): throw ReactorContractError.cancelsItself(reactor: "\(Self.self)")
    case .failure(let error): throw error
    case nil: throw ReactorContractError.takesTime(reactor: "\(Self.self)")
    }
  }
}

/// A mistake in the code of a reactor of committed state.
enum ReactorContractError: Error, CustomStringConvertible {
  /// It answered with an effect that takes time.
  case takesTime(reactor: String)
  /// It refused with a `CancellationError`.
  case cancelsItself(reactor: String)

  var description: String {
    switch self {
    case .takesTime(let reactor): "a mistake in \(reactor): an effect on committed state that takes time"
    case .cancelsItself(let reactor):
      "a mistake in \(reactor): it refuses with a CancellationError, and nothing was cancelled"
    }
  }
}
