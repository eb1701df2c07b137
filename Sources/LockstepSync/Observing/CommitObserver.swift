import LockstepAccounts
import LockstepCollections

/// Observes what was committed, by this node or another one.
///
/// This is the way from a commit to everyone that waits for it. Each function is called when the change is on disk and
/// can be read in memory. It runs on the thread that has published the change: the writer notifier, the commit feed, or
/// a thread of the writer. So it must be quick. The writer notifier and the commit feed may call at the same time, so an
/// older state of a user may come after a newer one.
package protocol CommitObserver: AccountsObserver {
  /// A user's new state was published.
  func stateCommitted(_ state: UserState, of user: UserID)

  /// The user's state in the store may be newer than the one in memory, or the user is gone.
  func stateForgotten(of user: UserID)

  /// New registered defaults were published.
  func registeredDefaultsCommitted(_ registered: RegisteredDefaults)

  /// Anything may have changed: the declared collections, or what other nodes have committed while this node did not
  /// follow them.
  func everythingChanged()

  /// Entries in the journal of all users may count now that did not count before.
  func journalMayHaveGrown()
}

extension CommitObserver {
  package func stateCommitted(_ state: UserState, of user: UserID) {}
  package func stateForgotten(of user: UserID) {}
  package func registeredDefaultsCommitted(_ registered: RegisteredDefaults) {}
  package func everythingChanged() {}
  package func journalMayHaveGrown() {}
}
