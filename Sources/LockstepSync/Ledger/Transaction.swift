import LockstepAccounts
import LockstepCollections
import LockstepStore

/// The actions of one request: all are applied, or none.
// A class, because it is passed through several closures.
package final class Transaction: Sendable {
  package static let maximumActions = 500

  /// The outcome of a transaction that is on disk.
  package enum Outcome: Sendable {
    /// Without a key. The caller makes the response, which takes no time of the writer thread.
    case done(Committed)
    /// With a key. The response is on disk too.
    case recorded(KeyedResponse)
  }

  package let user: UserID
  /// The session of the request. If the session has ended meanwhile, the transaction is refused.
  let session: LiveSession
  /// In order: each action sees the mutations of the earlier ones.
  let actions: [UserAction]
  /// Checks the state before any action runs. If it throws, the transaction is refused.
  let condition: (@Sendable (LedgerView) throws -> Void)?
  let key: IdempotencyKey?
  /// The response, recorded for the key. Without a key, the caller of the ledger makes the response.
  let response: @Sendable (Committed) -> StoredResponse
  /// The response to a refusal; nil for any other error, which must not be recorded.
  let refusal: @Sendable (any Error) -> StoredResponse?
  /// The part of a response that is recorded; the caller can make the rest again.
  let kept: @Sendable (StoredResponse) -> StoredResponse

  package init(
    user: UserID,
    session: LiveSession,
    actions: [UserAction],
    condition: (@Sendable (LedgerView) throws -> Void)? = nil,
    key: IdempotencyKey? = nil,
    response: @escaping @Sendable (Committed) -> StoredResponse,
    refusal: @escaping @Sendable (any Error) -> StoredResponse?,
    kept: @escaping @Sendable (StoredResponse) -> StoredResponse = { $0 }
  ) {
    self.user = user
    self.session = session
    self.actions = actions
    self.condition = condition
    self.key = key
    self.response = response
    self.refusal = refusal
    self.kept = kept
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
  /// The state before the transaction, which has not changed.
  package let view: LedgerView
}

/// The session of the request has ended, or its user is gone.
package struct SessionEndedError: Error {
  package init() {}
}
