import LockstepCollections
import LockstepStore

/// The decision of the reactors on a transaction. It has no effect yet.
struct Decision: Sendable {
  /// The revisions that the decision depends on. If one has changed, the ledger must decide again.
  struct Basis: Sendable, Equatable {
    let state: Revision
    /// The generation of the state: see `DecidedStates.Entry.latest`.
    let generation: Int
    let registered: Revision
    let era: Era
    /// The revision of the declared collections.
    let modules: Revision
  }

  struct Result: Sendable {
    let committed: Committed
    /// Nil if nothing changes.
    let writes: WriteSet?
  }

  let basis: Basis
  /// An error refuses the transaction.
  let result: Swift.Result<Result, any Error>
}

/// The decision takes more than `WorkBudget.short`. So an encoder thread must make it, and not an event
/// loop or the writer thread: see `Ledger.commitLong(_:)`.
package struct LongDecisionError: Error {
  /// The state to decide on, with its generation: see `DecidedStates.Entry.latest`.
  let state: UserState
  let generation: Int
}
