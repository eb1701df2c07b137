import LockstepHTTP
import LockstepThreading
import Synchronization

/// Notifies the requests that follow the journal of all users.
package final class JournalNotifier: Sendable {
  private let waiters: WaiterRegistry<Int>
  private let commits = Atomic(0)
  private let checkJournalSoon = LockedState<(@Sendable () -> Void)?>(nil)

  package init(_ limits: WaitingLimits) {
    waiters = WaiterRegistry(limits)
  }

  /// Records a commit of a user's transaction, and notifies all waiters.
  package func note() {
    commits.add(1, ordering: .acquiringAndReleasing)
    waiters.wake(0)
  }

  /// Sets what to do if the journal has entries that do not count yet: call `note` again soon.
  package func whenHidden(_ checkJournalSoon: @escaping @Sendable () -> Void) {
    self.checkJournalSoon.withLock { $0 = checkJournalSoon }
  }

  /// A request has found entries that do not count yet.
  package func noteHiddenEntries() { checkJournalSoon.withLock { $0 }?() }

  /// Notifies all waiters, because a service token was deleted.
  package func wakeAll() { waiters.wake(0) }

  /// The number of commits up to now.
  package var count: Int { commits.load(ordering: .acquiring) }

  package var metrics: (waiting: Int, wakings: Int) { waiters.metrics }

  /// All requests that have seats.
  package var requests: [WaitingRequest] { waiters.requests.map(\.request) }

  /// Takes a seat; nil if too many requests wait.
  package func seat(_ request: WaitingRequest) -> WaiterSeat? { waiters.seat(for: 0, request) }
}
