import LockstepCollections
import LockstepThreading
import Synchronization

/// The users whose states are known to be large. The long reader reads their states and history,
/// so that reads for other users do not wait.
package final class LargeUsers: Sendable {
  /// A state that costs more is large. Reading it from the store takes over a millisecond.
  static let largeCost = 256 * 1024
  private static let capacity = 4_096

  private let users = LockedState(GenerationalCache<UserID, Void>(capacity: capacity))
  /// Usually zero. Then no lock is needed.
  private let count = Atomic(0)

  /// Whether the user's last known state is large, even if it is no longer in memory.
  func contains(_ user: UserID) -> Bool {
    count.load(ordering: .relaxed) > 0 && users.withLock { $0.contains(user) }
  }

  func insert(_ user: UserID) {
    users.withLock { users in
      users.insert(user)
      count.store(users.count, ordering: .relaxed)
    }
  }

  func remove(_ user: UserID) {
    guard count.load(ordering: .relaxed) > 0 else { return }
    users.withLock { users in
      users.remove(user)
      count.store(users.count, ordering: .relaxed)
    }
  }
}
