import LockstepAccounts
import LockstepCollections
import LockstepStore

/// What one request wants to change, whole or not at all.
package struct Transaction: Sendable {
  /// The most actions that one request may ask for.
  package static let maximumActions = 500

  /// Whose state.
  package let user: UserID
  /// Who asks. A session that has ended meanwhile changes nothing.
  let session: LiveSession
  /// What is asked for, in order: each sees what those before it did.
  let actions: [UserAction]
  /// Looks at the state before anything is done, and throws where the request doesn't want to go on.
  package var condition: @Sendable (LedgerView) throws -> Void = { _ in }
  /// The client's key, where it sent one.
  package var key: IdempotencyKey?
  /// What the client is told when it's done, to be kept with its key. Without one, whoever commits tells the client.
  let answer: @Sendable (Committed) -> StoredResponse
  /// What the client is told of a refusal; nil for an error that is not the client's, and must not be kept.
  let refusal: @Sendable (any Error) -> StoredResponse?
  /// What of an answer is kept with the key; whoever commits can make the rest again.
  package var kept: @Sendable (StoredResponse) -> StoredResponse = { $0 }

  package init(
    user: UserID,
    session: LiveSession,
    actions: [UserAction],
    condition: @escaping @Sendable (LedgerView) throws -> Void = { _ in },
    key: IdempotencyKey? = nil,
    answer: @escaping @Sendable (Committed) -> StoredResponse,
    refusal: @escaping @Sendable (any Error) -> StoredResponse?,
    kept: @escaping @Sendable (StoredResponse) -> StoredResponse = { $0 }
  ) {
    self.user = user
    self.session = session
    self.actions = actions
    self.condition = condition
    self.key = key
    self.answer = answer
    self.refusal = refusal
    self.kept = kept
  }
}

/// A user's state and what shows behind it, at one moment.
package struct LedgerView: Sendable {
  package let state: UserState
  package let registered: RegisteredDefaults

  package init(state: UserState, registered: RegisteredDefaults) {
    self.state = state
    self.registered = registered
  }
}

/// What a transaction did.
package struct Committed: Sendable {
  /// The state before it.
  package let before: LedgerView
  /// The state after it.
  package let after: LedgerView
  /// What each action did, in order.
  package let mutations: [[CollectionMutation]]
}

extension Transaction {
  /// What became of a transaction. All of it is on disk.
  package enum Outcome: Sendable {
    /// It had no key. The answer is made of what it did, and not on the writer's thread, where all others wait.
    case done(Committed)
    /// It had one, so that its answer is on disk too.
    case answered(KeyedResponse)
  }
}

/// The answer to a write with a key.
package struct KeyedResponse: Sendable {
  package let answer: StoredResponse
  /// Whether the answer is that to an earlier request with the same key.
  package let isReplay: Bool

  package init(answer: StoredResponse, isReplay: Bool = false) {
    self.answer = answer
    self.isReplay = isReplay
  }
}

/// An action that was refused, by its place among those of its transaction.
package struct ActionRefusal: Error {
  package let index: Int
  package let refusal: Refusal
  /// The state that the transaction met, and has left.
  package let view: LedgerView
}

/// The session that asked has ended, or its user is gone.
package struct SessionEndedError: Error {
  package init() {}
}
