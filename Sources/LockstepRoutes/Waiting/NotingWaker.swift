import LockstepHTTP
import Synchronization

/// Records a notification, then wakes the connection.
package final class NotingWaker: Waker {
  private let waker: any Waker
  private let isNotified = Atomic(false)

  package init(_ waker: any Waker) {
    self.waker = waker
  }

  package func wake() {
    isNotified.store(true, ordering: .releasing)
    waker.wake()
  }

  package func join(_ wakings: inout WakeBatch) {
    isNotified.store(true, ordering: .releasing)
    waker.join(&wakings)
  }

  /// Wakes the connection without a notification.
  package func wakeOnly() { waker.wake() }

  /// Whether there was a notification since the last call.
  func takeNotification() -> Bool { isNotified.exchange(false, ordering: .acquiringAndReleasing) }
}
