import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepThreading
import Synchronization

/// Notifies the requests that follow the journal of all users.
package final class JournalNotifier: Sendable {
  private let waiters: WaiterRegistry<Int>
  private let commits = Atomic(0)
  private let checkJournalSoon: @Sendable () -> Void

  /// `checkJournalSoon` is called if the journal has entries that do not count yet. Then call `journalMayHaveGrown`
  /// soon.
  package init(_ limits: WaitingLimits, checkJournalSoon: @escaping @Sendable () -> Void) {
    waiters = WaiterRegistry(limits)
    self.checkJournalSoon = checkJournalSoon
  }

  /// Records a commit of a user's transaction, and notifies all waiters.
  private func note() {
    commits.add(1, ordering: .acquiringAndReleasing)
    waiters.wake(0)
  }

  /// A request has found entries that do not count yet.
  package func noteHiddenEntries() { checkJournalSoon() }

  /// The number of commits up to now.
  package var count: Int { commits.load(ordering: .acquiring) }

  package var metrics: (waiting: Int, wakings: Int) { waiters.metrics }

  /// All requests that have seats.
  package var requests: [WaitingRequest] { waiters.requests.map(\.request) }

  /// Takes a seat; nil if too many requests wait.
  package func seat(_ request: WaitingRequest) -> WaiterSeat? { waiters.seat(for: 0, request) }
}

extension JournalNotifier: CommitObserver {
  package func stateCommitted(_ state: UserState, of user: UserID) { note() }
  package func stateForgotten(of user: UserID) { note() }
  package func journalMayHaveGrown() { note() }
  // The requests of a deleted service token end.
  package func serviceTokenDeleted() { waiters.wake(0) }
  package func everythingChanged() { waiters.wake(0) }
}
