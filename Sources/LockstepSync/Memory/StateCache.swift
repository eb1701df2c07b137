import LockstepCollections
import LockstepSQLite
import LockstepThreading

/// The latest committed states of active users, in memory.
///
/// Readers on every event loop see a published state at once. When the cache is full, it evicts
/// states that have not been used recently.
package final class StateCache: Sendable {
  private struct Contents: Sendable {
    var states: GenerationalCache<UserID, CachedState>
    var loads = 0
  }

  private let contents: LockedState<Contents>
  private let flights = SingleFlight<UserID, CachedState, any Error>()
  private let readers: UserReaders
  private let load: @Sendable (UserID, SQLiteConnection) throws -> UserState

  /// `capacity` is in bytes, approximately.
  package init(
    capacity: Int,
    readers: UserReaders,
    load: @escaping @Sendable (UserID, SQLiteConnection) throws -> UserState
  ) {
    contents = LockedState(Contents(states: GenerationalCache(capacity: capacity, keepsDropped: true) { $0.cost }))
    self.readers = readers
    self.load = load
  }

  package func state(of user: UserID) -> CachedState? {
    let (cached, dropped) = contents.withLock { ($0.states.use(user), $0.states.takeDropped()) }
    // The dropped states are released outside the lock, because there may be many.
    _ = consume dropped
    return cached
  }

  package func revision(of user: UserID) -> Revision? { state(of: user)?.state.revision }

  /// The user's latest committed state, read from the store if it is not in memory.
  package func load(_ user: UserID) async throws -> CachedState {
    if let cached = state(of: user) { return cached }
    let loaded = try await flights.value(
      of: user,
      keep: { loaded in
        contents.withLock { contents in
          if let published = contents.states.use(user) { return published }
          contents.states.insert(loaded, for: user)
          return loaded
        }
      },
      {
        if let cached = state(of: user) { return cached }
        contents.withLock { $0.loads += 1 }
        return CachedState(try await readers.read(for: user) { [load] in try load(user, $0) }, after: nil)
      }
    )
    // The dropped states are released outside the lock, because there may be many.
    _ = contents.withLock { $0.states.takeDropped() }
    return loaded
  }

  /// Makes a state that is on disk the latest one. Only one thread at a time may call this.
  func publish(_ state: UserState, of user: UserID) {
    let previous = contents.withLock { $0.states.peek(user) }
    // Made outside the lock, because every request takes the lock. Meanwhile only a load can insert
    // a state, and that state is not newer.
    let cached = CachedState(state, after: previous)
    flights.invalidate(user)
    let dropped = contents.withLock { contents in
      contents.states.insert(cached, for: user)
      return contents.states.takeDropped()
    }
    _ = consume dropped
  }

  /// Removes a user who was erased.
  package func forget(_ user: UserID) {
    flights.invalidate(user)
    contents.withLock { $0.states.remove(user) }
  }

  /// How often a state was read from the store.
  package var loads: Int { contents.withLock { $0.loads } }

  package var size: (users: Int, bytes: Int) { contents.withLock { ($0.states.count, $0.states.cost) } }
}
