import LockstepCollections
import LockstepStore

/// Observes accounts. Each function is called when the change is on disk and in effect in memory, on the thread that
/// made the change, so it must be quick.
package protocol AccountsObserver: Sendable {
  /// A change of accounts was committed. It may have queued deliveries.
  func accountsCommitted()

  /// Sessions have ended, other than by expiry. `users` are those whose sessions were in memory: a request that holds
  /// its session keeps it in memory, so the requests of other users are not concerned.
  func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>)

  /// A service token was deleted. Expired ones are not reported.
  func serviceTokenDeleted()
}

extension AccountsObserver {
  package func accountsCommitted() {}
  package func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) {}
  package func serviceTokenDeleted() {}
}
