import LockstepCollections
import LockstepThreading

/// A transaction that waits for its group.
package struct PendingTransaction: OwnedWrite {
  let subject: TransactionSubject
  /// Decides, and returns the handler for success.
  let decide: @Sendable (StoreFacts) throws -> (writes: WriteSet?, complete: @Sendable () -> Void)
  let fail: @Sendable (any Error) -> Void

  package init(
    _ subject: TransactionSubject,
    decide: @escaping @Sendable (StoreFacts) throws -> (writes: WriteSet?, complete: @Sendable () -> Void),
    fail: @escaping @Sendable (any Error) -> Void
  ) {
    (self.subject, self.decide, self.fail) = (subject, decide, fail)
  }

  var user: UserID { subject.user }

  package var owner: WriteOwner? { subject.owner }
}

/// A unit that shows that groups can be committed, with the handler for its outcome.
struct CommitCheck: Sendable {
  let unit: @Sendable (StoreConnection) throws -> Void
  let completion: @Sendable (Result<Void, any Error>) -> Void
}

enum WriterWork: Sendable {
  case transaction(PendingTransaction)
  case check(CommitCheck)
}
