import LockstepAccounts
import LockstepCollections
import LockstepStore

/// Keeps the memory of this node up to date with what other nodes commit.
package final class NodeMemory: CommitFollower {
  private let cache: StateCache
  private let tables: ModuleTables
  private let directory: SessionDirectory
  private let registry: RegisteredLedger
  private let declared: DeclaredLedger
  private let serviceTokens: ServiceTokens
  private let commits: JournalNotifier
  private let wake: @Sendable (UserID) -> Void
  private let wakeAll: @Sendable () -> Void
  private let notify: @Sendable (UserID, UserState) -> Void

  /// `wake` notifies the waiters of a user, and `wakeAll` all waiters. `notify` is called after a state was
  /// published.
  package init(
    cache: StateCache,
    tables: ModuleTables,
    directory: SessionDirectory,
    registry: RegisteredLedger,
    declared: DeclaredLedger,
    serviceTokens: ServiceTokens,
    commits: JournalNotifier,
    wake: @escaping @Sendable (UserID) -> Void,
    wakeAll: @escaping @Sendable () -> Void,
    notify: @escaping @Sendable (UserID, UserState) -> Void
  ) {
    (self.cache, self.tables, self.directory) = (cache, tables, directory)
    (self.registry, self.declared, self.serviceTokens, self.commits) = (registry, declared, serviceTokens, commits)
    (self.wake, self.wakeAll, self.notify) = (wake, wakeAll, notify)
  }

  package func apply(_ changes: CommitChanges, from connection: StoreConnection) throws {
    directory.end(changes.endedSessions)
    // Before the states, which may contain the collections.
    if changes.topics.contains(.declaredCollections) { try declared.refresh(from: connection) }
    for case (let user, nil) in changes.heads { forget(user) }
    let outdated = cache.outdated(by: changes.heads.compactMapValues { $0 })
    publish(try tables.refresh(outdated, from: connection))
    // The waiters of other users load the state themselves.
    for case (let user, _?) in changes.heads where outdated[user] == nil { wake(user) }
    if changes.topics.contains(.serviceTokens) { try serviceTokens.refresh(from: connection) }
    if changes.topics.contains(.registeredDefaults) { try registry.refresh(from: connection) }
  }

  package func verify(with connection: StoreConnection) throws {
    try directory.verify(with: connection)
    try declared.refresh(from: connection, isWhole: true)
    publish(try tables.refresh(cache.all(), from: connection))
    try serviceTokens.refresh(from: connection)
    try registry.refresh(from: connection, isWhole: true)
    wakeAll()
  }

  package func journalMayHaveGrown() { commits.note() }

  /// Replaces states in memory.
  func publish(_ states: [UserID: RefreshedState]) {
    for (user, state) in states {
      switch state {
      case .unchanged: break
      case .newer(let state):
        cache.publish(state, of: user)
        notify(user, state)
      case .lost: forget(user)
      }
    }
  }

  private func forget(_ user: UserID) {
    cache.forget(user)
    wake(user)
  }
}
