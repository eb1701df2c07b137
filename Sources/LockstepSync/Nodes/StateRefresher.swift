import LockstepCollections
import LockstepStore
import LockstepThreading

/// Brings users' states in memory up to date before they are read, for requests that need the newest one.
///
/// All users that are asked for while one read runs are in the next one.
package final class StateRefresher: Sendable {
  private let cache: StateCache
  private let loader: BatchLoader<UserID, Void>

  package init(
    cache: StateCache,
    tables: ModuleTables,
    registry: RegisteredLedger,
    declared: DeclaredLedger,
    memory: NodeMemory,
    readers: StoreReaders
  ) {
    self.cache = cache
    let options = BatchLoaderOptions(
      "newest states",
      size: .max,
      waiting: .max,
      joinsReads: false,
      failsAll: StoreReaders.isFailure
    )
    loader = BatchLoader(options) { batch in
      try readers.submitWithoutSnapshot(repeats: true) { connection in
        // Collected before the read, so the read sees at least these states.
        var states: [UserID: UserState] = [:]
        for user in batch.keys where cache.revision(orRepeatingLoadsOf: user) != nil {
          states[user] = cache.state(of: user)?.state
        }
        try declared.refreshIfOutdated(from: connection)
        try registry.refreshIfOutdated(from: connection)
        memory.publish(try tables.refresh(states, from: connection))
        batch.read { _ in }
      } completion: {
        batch.end($0)
      }
    }
  }

  /// Returns when the user's state and the registered defaults in memory have everything that was committed before this call.
  package func refresh(_ user: UserID) async throws {
    _ = try await cache.load(user)
    try await loader.value(of: user)
  }
}
