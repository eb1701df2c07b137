import LockstepAccounts
import LockstepCollections
import LockstepStore

/// The actions of one request: all are applied, or none.
// A class, because it is passed through several closures.
package final class Transaction: Sendable {
  package static let maximumActions = 500
  /// Actions with more bytes are long. Encoding this many bytes takes up to two milliseconds.
  private static let longBytes = 64 * 1024

  /// The outcome of a transaction that is on disk.
  package enum Outcome: Sendable {
    /// Without an idempotency key. The caller makes the response, to save the writer thread's time.
    case done(Committed)
    /// With an idempotency key. The response is on disk too.
    case recorded(KeyedResponse)
  }

  package let user: UserID
  /// The session of the request. If the session has ended meanwhile, the transaction is refused.
  let session: LiveSession
  /// The actions in order. Each one sees the mutations of the earlier ones.
  let actions: [UserAction]
  /// Checks the state before any action runs. If it throws, the transaction is refused.
  let condition: (@Sendable (LedgerView) throws -> Void)?
  /// `Ledger.history` before anything was read for the condition; nil without a condition.
  let history: Int?
  let key: IdempotencyKey?
  /// Identifies the client's network, whose users share a limit on the writer's time; nil for a service
  /// token.
  package let network: Int?
  /// Makes the response that is recorded for the key. The ledger does not call it for a transaction
  /// without a key.
  let response: @Sendable (Committed) -> StoredResponse
  /// The response to a refusal; nil for any other error, which must not be recorded.
  let refusal: @Sendable (any Error) -> StoredResponse?
  /// The part of a response to record, without what the caller can make again. `isChanged` tells whether the
  /// transaction has entries in the journal.
  let kept: @Sendable (StoredResponse, _ isChanged: Bool) -> StoredResponse
  /// How many steps the decision may take, after the request's actions were read: see `WorkBudget`.
  let steps: Int
  /// Whether the actions are so long that an encoder thread must decide. A decision encodes the actions before it
  /// takes any steps, so the limit of steps does not make it end early.
  let isLong: Bool
  /// Counts the memory of the actions as in use, as long as the transaction exists.
  private let memory: (any Sendable)?

  package init(
    user: UserID,
    session: LiveSession,
    actions: [UserAction],
    condition: (@Sendable (LedgerView) throws -> Void)? = nil,
    history: Int? = nil,
    key: IdempotencyKey? = nil,
    network: Int? = nil,
    response: @escaping @Sendable (Committed) -> StoredResponse,
    refusal: @escaping @Sendable (any Error) -> StoredResponse?,
    kept: @escaping @Sendable (StoredResponse, _ isChanged: Bool) -> StoredResponse = { response, _ in response },
    steps: Int = WorkBudget.ofRequest,
    memory: (any Sendable)? = nil
  ) {
    self.user = user
    self.session = session
    self.actions = actions
    self.condition = condition
    self.history = history
    self.key = key
    self.network = network
    self.response = response
    self.refusal = refusal
    self.kept = kept
    self.steps = steps
    self.memory = memory
    isLong = actions.reduce(0) { $0 + $1.record.utf8.count } > Self.longBytes
  }
}

/// A user's state and the registered defaults, at one moment.
package struct LedgerView: Sendable {
  package let state: UserState
  package let registered: RegisteredDefaults

  package init(state: UserState, registered: RegisteredDefaults) {
    self.state = state
    self.registered = registered
  }
}

package struct Committed: Sendable {
  package let before: LedgerView
  package let after: LedgerView
  package let mutations: [[CollectionMutation]]
}

/// A refused action, with its index in the transaction.
package struct ActionRefusal: Error {
  package let index: Int
  package let refusal: Refusal
  /// The user's state, which the refused transaction has not changed.
  package let view: LedgerView
}

/// The session of the request has ended, or its user was erased.
package struct SessionEndedError: Error {
  package init() {}
}

/// The declaration of a collection has changed after the request's actions were read. The client sends the
/// request again.
package struct DeclarationChangedError: Error {}
