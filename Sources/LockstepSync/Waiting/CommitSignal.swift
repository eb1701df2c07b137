import LockstepHTTP
import LockstepThreading
import Synchronization

/// Notifies the requests that follow the journal of all users.
package final class CommitSignal: Sendable {
  private let waiters: WaiterRegistry<Int>
  private let commits = Atomic(0)

  package init(_ limits: WaitingLimits) {
    waiters = WaiterRegistry(limits)
  }

  /// Call this after each commit of a user's transaction.
  package func note() {
    commits.add(1, ordering: .acquiringAndReleasing)
    waiters.wake(0)
  }

  /// Notifies all waiters, because a service token was deleted.
  package func wakeAll() { waiters.wake(0) }

  /// The number of commits up to now.
  package var count: Int { commits.load(ordering: .acquiring) }

  /// The number of requests that have seats.
  var waiting: Int { waiters.metrics.waiting }

  /// Takes a seat; nil if too many requests wait.
  package func seat(_ request: WaitingRequest) -> WaiterSeat? { waiters.seat(for: 0, request) }
}
