import LockstepCollections
import LockstepSQLiteStore

/// The users whose writes have failed because their locks were not free.
///
/// A user counts as busy until a group has locked the user again, or until a minute after the last failed write.
/// `LockedUsers` has the users whose rows another program has locked.
struct BusyUsers {
  /// How long a user without writes counts as busy, in nanoseconds.
  private static let longestTime: Int64 = 60_000_000_000

  private var monitor: FailureMonitor
  /// When the last write of each user failed.
  private var failed: [UserID: Int64] = [:]

  init(monitor: FailureMonitor) { self.monitor = monitor }

  mutating func noteFailure(of user: UserID, now: Int64) {
    failed[user] = now
    monitor.noteFailure(UserLockedError())
  }

  /// Call this when a group has locked these users.
  mutating func noteLocks(of users: some Sequence<UserID>, now: @autoclosure () -> Int64) {
    if failed.isEmpty { return }
    for user in users { failed[user] = nil }
    let oldest = now() - Self.longestTime
    failed = failed.filter { $0.value >= oldest }
    if failed.isEmpty { monitor.noteSuccess() }
  }
}
