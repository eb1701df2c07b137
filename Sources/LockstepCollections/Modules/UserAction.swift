import LockstepJSON
import LockstepReactor

/// An action that one of a user's collections is asked to take, whichever module it belongs to.
struct UserAction: Sendable {
  /// What a decision may look at besides the collection itself.
  struct Surroundings: Sendable {
    /// The user's state, with what earlier actions of the same transaction did to it.
    let state: UserState
    /// What the app has registered for everybody.
    let registered: RegisteredDefaults
    /// When the transaction takes place.
    let now: Timestamp
  }

  /// Which collection.
  let collection: CollectionName
  /// The action as the journal tells it, in JSON: `{"type": …, "payload": …}`. Written where the action is made, so that
  /// the writer's thread needn't.
  let record: String
  /// Asks the module's reactor. Throws its refusal.
  let decide: @Sendable (Surroundings) throws -> [CollectionMutation]

  /// An action on its way to a collection.
  init(
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
  func decision(on action: Action, in state: State) throws -> [Mutation] {
    switch mutate(action, in: state).immediateMutations {
    case .success(let mutations): return mutations
    // Nothing cancels a decision: passed on, it would be taken for a server that stops.
    case .failure(is CancellationError): throw ReactorMistake.cancelsItself(reactor: "\(Self.self)")
    case .failure(let error): throw error
    case nil: throw ReactorMistake.takesTime(reactor: "\(Self.self)")
    }
  }
}

/// A mistake in the code of a reactor of committed state.
enum ReactorMistake: Error, CustomStringConvertible {
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
