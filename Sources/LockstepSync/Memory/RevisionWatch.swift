import LockstepAccounts
import LockstepCollections
import Synchronization

/// Tells whether a session is alive and its user's state is still at a revision.
package struct RevisionWatch: ~Copyable, Sendable {
  private let session: LiveSession
  private let revision: Revision
  private let count: ChangeCount
  /// The count at which the session was last known to be alive, and the state to be at the revision.
  private let known = Atomic(-1)

  init(_ session: LiveSession, _ revision: Revision) {
    self.session = session
    self.revision = revision
    count = session.changes
  }

  /// False if the state is not in memory and the count has changed.
  package func holds(in cache: StateCache) -> Bool {
    // The count is read before the state. So if the state changes in between, the count differs the
    // next time.
    let now = count.value
    if now == known.load(ordering: .relaxed) { return true }
    guard !session.isEnded, cache.revision(of: session.user) == revision else { return false }
    known.store(now, ordering: .relaxed)
    return true
  }
}
