import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLiteStore

/// The users whose rows another program has locked, such as a forgotten session of psql.
///
/// While a statement waits for such a lock, the writes of all other users wait too. So the transactions of
/// these users fail at once, and one of these users is tried each second.
struct LockedUsers {
  private static let attemptInterval: Int64 = 1_000_000_000
  /// How long a user without writes counts as locked, in nanoseconds.
  private static let longestTime: Int64 = 60_000_000_000

  private var monitor: FailureMonitor
  private let monotonic: @Sendable () -> Int64
  /// When each user's rows were found to be locked.
  private var found: [UserID: Int64] = [:]
  private var nextAttempt: Int64 = .min

  init(monitor: FailureMonitor, monotonic: @escaping @Sendable () -> Int64) {
    (self.monitor, self.monotonic) = (monitor, monotonic)
  }

  /// Fails the transactions of locked users, except for one user whose turn it is. Returns the transactions
  /// of all other users, and those of this one, which must be written alone.
  mutating func split(
    _ group: [PendingTransaction]
  ) -> (free: [PendingTransaction], attempts: [PendingTransaction]) {
    if found.isEmpty { return (group, []) }
    let now = monotonic()
    forget(before: now - Self.longestTime)
    let waiting = group.filter { found[$0.user] != nil }
    var next: UserID?
    if now >= nextAttempt {
      // The one that was tried longest ago.
      next = waiting.map(\.user).min { (found[$0] ?? 0) < (found[$1] ?? 0) }
    }
    for transaction in waiting where transaction.user != next { transaction.fail(UserLockedError()) }
    return (group.filter { found[$0.user] == nil }, waiting.filter { $0.user == next })
  }

  /// `error` is nil if no other program has the locks.
  mutating func noteLock(of user: UserID, _ error: (any Error)?) {
    let now = monotonic()
    found[user] = now
    nextAttempt = now + Self.attemptInterval
    if let error { monitor.noteFailure(error) }
  }

  mutating func noteSuccess(of user: UserID) {
    if found.removeValue(forKey: user) == nil { return }
    // The same program may have locked the others.
    nextAttempt = .min
    if found.isEmpty { monitor.noteSuccess() }
  }

  private mutating func forget(before limit: Int64) {
    found = found.filter { $0.value >= limit }
    if found.isEmpty { monitor.noteSuccess() }
  }
}
