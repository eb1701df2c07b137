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
  private let eras: EraSource
  private let observer: any CommitObserver

  package init(
    cache: StateCache,
    tables: ModuleTables,
    directory: SessionDirectory,
    registry: RegisteredLedger,
    declared: DeclaredLedger,
    serviceTokens: ServiceTokens,
    _ shared: LedgerEnvironment
  ) {
    (self.cache, self.tables, self.directory) = (cache, tables, directory)
    (self.registry, self.declared, self.serviceTokens) = (registry, declared, serviceTokens)
    (eras, observer) = (shared.eras, shared.observer)
  }

  package func apply(_ changes: CommitChanges, from connection: StoreConnection) throws {
    directory.end(changes.endedSessions)
    // Before the states, which may contain the collections.
    if changes.topics.contains(.declaredCollections) { try declared.refresh(from: connection) }
    for case (let user, nil) in changes.heads { forget(user) }
    let outdated = cache.outdated(by: changes.heads.compactMapValues { $0 })
    publish(try tables.refresh(outdated, from: connection))
    // The waiters of other users load the state themselves.
    for case (let user, _?) in changes.heads where outdated[user] == nil { observer.stateForgotten(of: user) }
    if changes.topics.contains(.serviceTokens) { try serviceTokens.refresh(from: connection) }
    if changes.topics.contains(.registeredDefaults) { try registry.refresh(from: connection) }
  }

  package func verify(with connection: StoreConnection) throws {
    try directory.verify(with: connection)
    try declared.refresh(from: connection, isWhole: true)
    publish(try tables.refresh(cache.all(), from: connection))
    try serviceTokens.refresh(from: connection)
    try registry.refresh(from: connection, isWhole: true)
    observer.everythingChanged()
  }

  package func journalMayHaveGrown() { observer.journalMayHaveGrown() }

  package func leaseWasRegained() { observer.everythingChanged() }

  package func writerHasConnected(isOtherHistory: Bool) {
    eras.begin(isOtherHistory: isOtherHistory)
    cache.forgetAll()
  }

  package func unitsHaveConnected() { eras.begin() }

  /// Replaces states in memory.
  func publish(_ states: [UserID: RefreshedState]) {
    for (user, state) in states {
      switch state {
      case .unchanged: break
      case .newer(let state):
        cache.publish(state, of: user)
        observer.stateCommitted(state, of: user)
      case .lost: forget(user)
      }
    }
  }

  private func forget(_ user: UserID) {
    cache.forget(user)
    observer.stateForgotten(of: user)
  }
}
