import LockstepThreading
import Synchronization

/// Whether commits of states are events of a webhook, in memory: so a store without such a webhook
/// has no work with each commit.
///
/// In SQLite, no event is written while this is false. So it is true whenever a committed webhook
/// needs it. In PostgreSQL, it only says whether to look for deliveries after a commit.
package final class WebhookSignal: Sendable {
  private let isSubscribed: Atomic<Bool>
  /// How often the signal was raised.
  private let raises = LockedState(0)

  package init(isSubscribed: Bool) { self.isSubscribed = Atomic(isSubscribed) }

  package var hasStateEvents: Bool { isSubscribed.load(ordering: .acquiring) }

  /// Call this after the commit of a webhook, before the response.
  package func raise() {
    raises.withLock { raises in
      raises += 1
      isSubscribed.store(true, ordering: .releasing)
    }
  }

  /// Identifies the present state of the signal, for `set`.
  package var version: Int { raises.withLock { $0 } }

  /// Sets the signal to what the store says, unless it was raised since `version`, which was read
  /// before the store.
  package func set(_ value: Bool, since version: Int) {
    raises.withLock { raises in
      if raises == version { isSubscribed.store(value, ordering: .releasing) }
    }
  }
}
