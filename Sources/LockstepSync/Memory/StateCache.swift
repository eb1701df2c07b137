import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepThreading

/// The latest committed states of active users, in memory.
///
/// Readers on every event loop see a published state at once. When the cache is full, it evicts
/// states that have not been used recently. States that are not in memory are loaded in batches.
package final class StateCache: Sendable {
  private struct Contents: Sendable {
    var states: CachedStates
    var loads = 0
  }

  private static let batchSize = 32
  /// States of this many bytes take long to read.
  private static let largeCost = 64 * 1024

  private let contents: LockedState<Contents>
  private let changes: ChangeCounts
  private let largeUsers: LargeUsers
  private let loader: BatchLoader<UserID, CachedState>
  /// Loads the states of `largeUsers` on the long reader.
  private let longLoader: BatchLoader<UserID, CachedState>

  /// `capacity` is in bytes, approximately. `changes` are those of the directory of sessions.
  package init(
    capacity: Int,
    readers: UserReaders,
    changes: ChangeCounts = ChangeCounts(),
    load: @escaping @Sendable (UserID, StoreConnection) throws -> UserState
  ) {
    let contents = LockedState(Contents(states: CachedStates(capacity: capacity, largeUsers: readers.largeUsers)))
    self.contents = contents
    self.changes = changes
    largeUsers = readers.largeUsers
    let makeLoader = { (isLong: Bool, options: BatchLoaderOptions) in
      BatchLoader<UserID, CachedState>(
        options,
        known: { user in contents.withLock { $0.states.use(user) } },
        keep: { user, loaded in
          contents.withLock { contents in
            // A state that was published in the meantime.
            if let published = contents.states.use(user) { return published }
            contents.states.insert(loaded, for: user)
            // The state may be newer than the published one: it may be on disk before it is published.
            changes[user].increment()
            return loaded
          }
        },
        isLarge: { $0.cost >= Self.largeCost }
      ) { batch in
        try readers.submit(isLong: isLong) { connection in
          try batch.read { user in
            contents.withLock { $0.loads += 1 }
            return CachedState(try load(user, connection), after: nil)
          }
          _ = contents.withLock { $0.states.takeDropped() }
        } completion: {
          batch.end($0)
        }
      }
    }
    // At most half of the reader threads load states, so that the others stay free for other reads.
    loader = makeLoader(
      false,
      BatchLoaderOptions(
        "states",
        size: Self.batchSize,
        atOnce: readers.threads / 2,
        failsAll: StoreReaders.isFailure
      )
    )
    longLoader = makeLoader(true, BatchLoaderOptions("large states", size: 1))
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

  /// The revision of the state in memory. If there is none, loads that run are repeated, because they may have
  /// read an older state than the caller knows of.
  package func revision(orRepeatingLoadsOf user: UserID) -> Revision? {
    if let known = revision(of: user) { return known }
    repeatLoads(of: user)
    // A load may have ended in the meantime.
    return revision(of: user)
  }

  /// The user's latest committed state, read from the store if it is not in memory. `network` is that of the
  /// client, if there is one.
  package func load(_ user: UserID, from network: Int? = nil) async throws -> CachedState {
    if let cached = state(of: user) { return cached }
    return try await withCompletion { load(user, from: network, $0) }
  }

  /// Reads a user's state like `load(_:from:)`, for a request that waits without a task.
  func load(
    _ user: UserID,
    from network: Int?,
    _ completion: @escaping @Sendable (Result<CachedState, any Error>) -> Void
  ) {
    let loader = largeUsers.contains(user) ? longLoader : loader
    loader.load(user, from: network, completion)
  }

  /// Makes a state that is on disk the latest one, unless a newer one is known.
  package func publish(_ state: UserState, of user: UserID) {
    let previous = contents.withLock { $0.states.peek(user) }
    // Made outside the lock, because every request takes the lock.
    let cached = CachedState(state, after: previous)
    repeatLoads(of: user)
    let dropped = contents.withLock { contents in
      // A load may have read the next state of the same commit.
      if contents.states.peek(user).map({ $0.state.revision <= state.revision }) ?? true {
        contents.states.insert(cached, for: user)
      }
      changes[user].increment()
      return contents.states.takeDropped()
    }
    _ = dropped
  }

  /// The states in memory that are older than the numbers of these revisions. Loads of other states, which
  /// may be as old, are repeated.
  func outdated(by heads: [UserID: Int]) -> [UserID: UserState] {
    // First, because a load may end in the meantime.
    for user in heads.keys { repeatLoads(of: user) }
    return contents.withLock { contents in
      var outdated: [UserID: UserState] = [:]
      for (user, number) in heads {
        guard let state = contents.states.peek(user)?.state, state.revision.number < number else { continue }
        outdated[user] = state
      }
      return outdated
    }
  }

  /// Repeats the loads of a user that run.
  func repeatLoads(of user: UserID) {
    loader.invalidate(user)
    longLoader.invalidate(user)
  }

  private func repeatAllLoads() {
    loader.invalidateAll()
    longLoader.invalidateAll()
  }

  /// All states in memory. All loads are repeated.
  func all() -> [UserID: UserState] {
    repeatAllLoads()
    return contents.withLock { $0.states.all }
  }

  /// Removes a user who was erased.
  package func forget(_ user: UserID) {
    repeatLoads(of: user)
    contents.withLock {
      $0.states.remove(user)
      changes[user].increment()
    }
  }

  /// Removes all states, because the history in the store may be another one now.
  package func forgetAll() {
    repeatAllLoads()
    let dropped = contents.withLock { $0.states.removeAll() }
    changes.incrementAll()
    // There may be many.
    _ = dropped
  }

  /// How often a state was read from the store.
  package var loads: Int { contents.withLock { $0.loads } }

  package var size: (users: Int, bytes: Int) { contents.withLock { ($0.states.count, $0.states.cost) } }
}
