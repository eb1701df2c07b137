import LockstepCollections
import LockstepStore
import LockstepThreading

/// Brings users' states in memory up to date before they are read, for requests that need the newest one.
///
/// All users that are asked for while one read runs are in the next one.
package final class StateRefresher: Sendable {
  private struct Contents: Sendable {
    var waiting: [UserID: [@Sendable (Result<Void, any Error>) -> Void]] = [:]
    var isRunning = false
  }

  private let contents = LockedState(Contents())
  private let cache: StateCache
  private let tables: ModuleTables
  private let registry: RegisteredLedger
  private let declared: DeclaredLedger
  private let memory: NodeMemory
  private let readers: StoreReaders

  package init(
    cache: StateCache,
    tables: ModuleTables,
    registry: RegisteredLedger,
    declared: DeclaredLedger,
    memory: NodeMemory,
    readers: StoreReaders
  ) {
    (self.cache, self.tables, self.registry) = (cache, tables, registry)
    (self.declared, self.memory, self.readers) = (declared, memory, readers)
  }

  /// Returns when the user's state and the registered defaults in memory have everything that was committed before this call.
  package func refresh(_ user: UserID) async throws {
    _ = try await cache.load(user)
    try await withCompletion { (completion: @escaping @Sendable (Result<Void, any Error>) -> Void) in
      let begins = contents.withLock { contents in
        contents.waiting[user, default: []].append(completion)
        defer { contents.isRunning = true }
        return !contents.isRunning
      }
      if begins { readNext() }
    }
  }

  private func readNext() {
    let waiting = contents.withLock { contents in
      defer { contents.waiting = [:] }
      contents.isRunning = !contents.waiting.isEmpty
      return contents.waiting
    }
    if waiting.isEmpty { return }
    // Collected before the read, so the read sees at least these states.
    var states: [UserID: UserState] = [:]
    for user in waiting.keys {
      states[user] = cache.state(of: user)?.state
      // It was forgotten meanwhile. A load that already runs may be older than the call.
      if states[user] == nil { cache.repeatLoads(of: user) }
    }
    do {
      try readers.submitWithoutSnapshot(repeats: true) { [tables, states, registry, declared] in
        try declared.refreshIfOutdated(from: $0)
        try registry.refreshIfOutdated(from: $0)
        return try tables.refresh(states, from: $0)
      } completion: { [self] result in
        if let states = try? result.get() { memory.publish(states) }
        finish(waiting, result.map { _ in })
      }
    } catch {
      finish(waiting, .failure(error))
    }
  }

  private func finish(
    _ waiting: [UserID: [@Sendable (Result<Void, any Error>) -> Void]],
    _ result: Result<Void, any Error>
  ) {
    for completions in waiting.values { for completion in completions { completion(result) } }
    readNext()
  }
}
