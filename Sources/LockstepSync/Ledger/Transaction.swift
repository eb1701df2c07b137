/// What one request wants to change, whole or not at all.
struct Transaction: Sendable {
  /// Whose state.
  let user: UserID
  /// Who asks. A session that has ended meanwhile changes nothing.
  let session: LiveSession
  /// What is asked for, in order: each sees what those before it did.
  let actions: [UserAction]
  /// Looks at the state before anything is done, and throws where the request doesn't want to go on.
  var condition: @Sendable (LedgerView) throws -> Void = { _ in }
  /// The client's key, where it sent one.
  var key: IdempotencyKey?
  /// What the client is told when it's done, to be kept with its key. Without one, whoever commits tells the client.
  let answer: @Sendable (Committed) -> StoredAnswer
  /// What the client is told of a refusal; nil for an error that is not the client's, and must not be kept.
  let refusal: @Sendable (any Error) -> StoredAnswer?
  /// What of an answer is kept with the key; whoever commits can make the rest again.
  var kept: @Sendable (StoredAnswer) -> StoredAnswer = { $0 }
}

/// A user's state and what shows behind it, at one moment.
struct LedgerView: Sendable {
  let state: UserState
  let registered: RegisteredDefaults
}

/// What a transaction did.
struct Committed: Sendable {
  /// The state before it.
  let before: LedgerView
  /// The state after it.
  let after: LedgerView
  /// What each action did, in order.
  let mutations: [[CollectionMutation]]
}

extension Transaction {
  /// What became of a transaction. All of it is on disk.
  enum Outcome: Sendable {
    /// It had no key. The answer is made of what it did, and not on the writer's thread, where all others wait.
    case done(Committed)
    /// It had one, so that its answer is on disk too.
    case answered(Settlement)
  }
}

/// The answer to a write with a key.
struct Settlement: Sendable {
  let answer: StoredAnswer
  /// Whether the answer is that to an earlier request with the same key.
  var isReplay = false
}

/// An action that was refused, by its place among those of its transaction.
struct RefusedAction: Error {
  let index: Int
  let refusal: Refusal
  /// The state that the transaction met, and has left.
  let view: LedgerView
}

/// The session that asked has ended, or its user is gone.
struct SessionEnded: Error {}
