import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepThreading

/// The latest committed states of active users, in memory.
///
/// Readers on every event loop see a published state at once. When the cache is full, it evicts
/// states that have not been used recently.
package final class StateCache: Sendable {
  private struct Contents: Sendable {
    var states: CachedStates
    /// Users whose state is being loaded after `beginLoading`, and whether it is outdated.
    var loading: [UserID: Bool] = [:]
    var loads = 0

    mutating func markOutdated(_ user: UserID) {
      if !loading.isEmpty, loading[user] != nil { loading[user] = true }
    }
  }

  private let contents: LockedState<Contents>
  private let changes: ChangeCounts
  private let flights = SingleFlight<UserID, CachedState, any Error>()
  private let readers: UserReaders
  private let load: @Sendable (UserID, StoreConnection) throws -> UserState

  /// `capacity` is in bytes, approximately. `changes` are those of the directory of sessions.
  package init(
    capacity: Int,
    readers: UserReaders,
    changes: ChangeCounts = ChangeCounts(),
    load: @escaping @Sendable (UserID, StoreConnection) throws -> UserState
  ) {
    contents = LockedState(Contents(states: CachedStates(capacity: capacity, largeUsers: readers.largeUsers)))
    self.readers = readers
    self.changes = changes
    self.load = load
  }

  package func state(of user: UserID) -> CachedState? { use(user).state }

  /// Like `state(of:)`, for a caller with a lock. The caller must release `dropped` outside its lock,
  /// because these may be thousands of states.
  func use(_ user: UserID) -> (state: CachedState?, dropped: CachedStates.Dropped) {
    contents.withLock { ($0.states.use(user), $0.states.takeDropped()) }
  }

  package func revision(of user: UserID) -> Revision? { state(of: user)?.state.revision }

  /// Nil if the session's changes are not counted here.
  package func watch(_ session: LiveSession, at revision: Revision) -> RevisionWatch? {
    session.changes === changeCount(of: session.user) ? RevisionWatch(session, revision) : nil
  }

  func changeCount(of user: UserID) -> ChangeCount { changes[user] }

  /// The user's latest committed state, read from the store if it is not in memory. `network` is that of the
  /// client, if there is one.
  package func load(_ user: UserID, from network: Int? = nil) async throws -> CachedState {
    if let cached = state(of: user) { return cached }
    let loaded = try await flights.value(
      of: user,
      keep: { keep($0, of: user) },
      {
        if let cached = state(of: user) { return cached }
        contents.withLock { $0.loads += 1 }
        let state = try await readers.read(for: user, from: network) { [load] in try load(user, $0) }
        return CachedState(state, after: nil)
      }
    )
    _ = contents.withLock { $0.states.takeDropped() }
    return loaded
  }

  /// Begins to load a user's state on a reader thread. Returns false if the state is in memory, if
  /// it is being loaded in this way, if other reads of the user run, or if the state is known to be
  /// large. Otherwise read the state in a snapshot that begins later, and call `finishLoading`,
  /// even if the load fails.
  func beginLoading(_ user: UserID) -> Bool {
    guard !readers.shares.isRunning(user) else { return false }
    return contents.withLock { contents in
      guard contents.loading[user] == nil, contents.states.needsShortLoad(user) else { return false }
      contents.loading[user] = false
      contents.loads += 1
      return true
    }
  }

  func read(_ user: UserID, from connection: StoreConnection) throws -> UserState { try load(user, connection) }

  /// Keeps a state that was read, unless a newer one was published since `beginLoading`. Nil: the
  /// load failed.
  func finishLoading(_ user: UserID, _ state: UserState?) {
    let loaded = state.map { CachedState($0, after: nil) }
    let dropped = contents.withLock { contents in
      let isOutdated = contents.loading.removeValue(forKey: user) ?? true
      if let loaded, !isOutdated, contents.states.peek(user) == nil { insertLoaded(loaded, for: user, into: &contents) }
      return contents.states.takeDropped()
    }
    _ = dropped
  }

  /// Returns a state that was published in the meantime instead of a loaded one.
  private func keep(_ loaded: CachedState, of user: UserID) -> CachedState {
    contents.withLock { contents in
      if let published = contents.states.use(user) { return published }
      insertLoaded(loaded, for: user, into: &contents)
      return loaded
    }
  }

  private func insertLoaded(_ loaded: CachedState, for user: UserID, into contents: inout Contents) {
    contents.states.insert(loaded, for: user)
    // The state may be newer than the published one: it may be on disk before it is published.
    changes[user].increment()
  }

  /// Makes a state that is on disk the latest one, unless a newer one is known.
  package func publish(_ state: UserState, of user: UserID) {
    let previous = contents.withLock { $0.states.peek(user) }
    // Made outside the lock, because every request takes the lock.
    let cached = CachedState(state, after: previous)
    flights.invalidate(user)
    let dropped = contents.withLock { contents in
      // A load may have read the next state of the same commit.
      if contents.states.peek(user).map({ $0.state.revision <= state.revision }) ?? true {
        contents.states.insert(cached, for: user)
      }
      contents.markOutdated(user)
      changes[user].increment()
      return contents.states.takeDropped()
    }
    _ = dropped
  }

  /// The states in memory that are older than the numbers of these revisions. Loads of other states, which
  /// may be as old, are repeated.
  func outdated(by heads: [UserID: Int]) -> [UserID: UserState] {
    let (outdated, absent) = contents.withLock { contents in
      var outdated: [UserID: UserState] = [:]
      var absent: [UserID] = []
      for (user, number) in heads {
        guard let cached = contents.states.peek(user) else {
          contents.markOutdated(user)
          absent.append(user)
          continue
        }
        if cached.state.revision.number < number { outdated[user] = cached.state }
      }
      return (outdated, absent)
    }
    for user in absent { flights.invalidate(user) }
    return outdated
  }

  /// Repeats the loads of a user that run.
  package func repeatLoads(of user: UserID) {
    contents.withLock { $0.markOutdated(user) }
    flights.invalidate(user)
  }

  /// All states in memory. All loads are repeated.
  func all() -> [UserID: UserState] {
    flights.invalidateAll()
    return contents.withLock { contents in
      for user in contents.loading.keys { contents.loading[user] = true }
      return contents.states.all
    }
  }

  /// Removes a user who was erased.
  package func forget(_ user: UserID) {
    flights.invalidate(user)
    contents.withLock {
      $0.states.remove(user)
      $0.markOutdated(user)
      changes[user].increment()
    }
  }

  /// Removes all states, because the history in the store may be another one now.
  package func forgetAll() {
    flights.invalidateAll()
    let dropped = contents.withLock { contents in
      for user in contents.loading.keys { contents.loading[user] = true }
      return contents.states.removeAll()
    }
    changes.incrementAll()
    // There may be many.
    _ = dropped
  }

  /// How often a state was read from the store.
  package var loads: Int { contents.withLock { $0.loads } }

  package var size: (users: Int, bytes: Int) { contents.withLock { ($0.states.count, $0.states.cost) } }
}
