import LockstepThreading
import Synchronization

/// Whether a webhook gets `state.changed`, in memory, so that commits of a store without such a
/// webhook cost nothing.
///
/// In SQLite, no event is written while this is false, so it must be true before the `PUT` of such
/// a webhook gets its response. In PostgreSQL, it only decides whether to look for deliveries after
/// a commit.
package final class StateEventFlag: Sendable {
  private let isSubscribed: Atomic<Bool>
  /// How often the flag was raised.
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

  /// Identifies the present state of the flag, for `set`.
  package var version: Int { raises.withLock { $0 } }

  /// Sets the flag to what the store says, unless it was raised since `version`, which was read
  /// before the store.
  package func set(_ value: Bool, since version: Int) {
    raises.withLock { raises in
      if raises == version { isSubscribed.store(value, ordering: .releasing) }
    }
  }
}
