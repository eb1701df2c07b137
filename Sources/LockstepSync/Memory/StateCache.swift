import LockstepCollections
import LockstepSQLite
import LockstepThreading

/// The latest committed states of the users who are about, in memory.
///
/// - What is published is seen at once by everybody, on every loop.
/// - A user who isn't in memory is loaded once, however many ask at the same time.
/// - The memory is bounded: who wasn't asked for in a while goes.
package final class StateCache: Sendable {
  private enum Turn: Sendable {
    case found(CachedState)
    /// The caller loads for all.
    case lead
    case share(Result<CachedState, any Error>)
    /// What was loaded is out of date.
    case again
  }

  private struct Loading: Sendable {
    var waiting: [CheckedContinuation<Turn, Never>] = []
    /// Something was published or forgotten meanwhile: what is being read may be out of date.
    var isOutdated = false
  }

  private struct Contents: Sendable {
    var states: GenerationalCache
    var loading: [UserID: Loading] = [:]
    var loads = 0
  }

  private let contents: LockedState<Contents>
  private let readers: UserReaders
  private let load: @Sendable (UserID, SQLiteConnection) throws -> UserState

  /// - Parameters:
  ///   - capacity: About how many bytes the states may take.
  ///   - readers: Where is read what isn't in memory.
  ///   - load: How a state is read.
  package init(
    capacity: Int,
    readers: UserReaders,
    load: @escaping @Sendable (UserID, SQLiteConnection) throws -> UserState
  ) {
    contents = LockedState(Contents(states: GenerationalCache(capacity: capacity)))
    self.readers = readers
    self.load = load
  }

  /// The user's latest committed state, if it's in memory.
  package func state(of user: UserID) -> CachedState? {
    let (hot, dropped) = contents.withLock { ($0.states.use(user), $0.states.takeDropped()) }
    // Let go of here, outside the lock: there may be many.
    _ = consume dropped
    return hot
  }

  /// The revision of the user's latest committed state, if it's in memory.
  package func revision(of user: UserID) -> Revision? { state(of: user)?.state.revision }

  /// The user's latest committed state, from the store if need be.
  package func load(_ user: UserID) async throws -> CachedState {
    while true {
      switch await turn(user) {
      case .found(let hot): return hot
      case .share(let result): return try result.get()
      case .again: continue
      case .lead: break
      }
      let result: Result<CachedState, any Error>
      do {
        let load = load
        result = .success(CachedState(try await readers.read(for: user) { try load(user, $0) }, after: nil))
      } catch {
        result = .failure(error)
      }
      if let settled = settle(user, result) { return try settled.get() }
      if case .failure(let error as CancellationError) = result { throw error }
    }
  }

  /// Makes a state the latest one: it's on disk. To be called by one thread at a time.
  ///
  /// - Parameters:
  ///   - state: The state.
  ///   - user: Whose it is.
  ///   - mutationBytes: How long the facts are that led to it.
  func publish(_ state: UserState, of user: UserID, mutationBytes: Int) {
    let previous = contents.withLock { $0.states.peek(user) }
    // Made outside the lock, which every request needs. Meanwhile only a load can put something there, and nothing newer.
    let hot = CachedState(state, after: previous, mutationBytes: mutationBytes)
    let dropped = contents.withLock { contents in
      contents.loading[user]?.isOutdated = true
      contents.states.insert(hot, of: user)
      return contents.states.takeDropped()
    }
    _ = consume dropped
  }

  /// Forgets a user, who is gone.
  package func forget(_ user: UserID) {
    contents.withLock { contents in
      contents.loading[user]?.isOutdated = true
      contents.states.remove(user)
    }
  }

  /// How many times a user's state had to be read. Every other request found it in memory: those aren't counted, since nothing
  /// is as frequent.
  package var loads: Int { contents.withLock { $0.loads } }

  /// How many users are in memory, and about how many bytes they take.
  package var size: (users: Int, bytes: Int) { contents.withLock { ($0.states.count, $0.states.cost) } }

  private func turn(_ user: UserID) async -> Turn {
    await withCheckedContinuation { continuation in
      let turn = contents.withLock { contents -> Turn? in
        if let hot = contents.states.use(user) { return .found(hot) }
        guard contents.loading[user] != nil else {
          contents.loading[user] = Loading()
          contents.loads += 1
          return .lead
        }
        contents.loading[user]?.waiting.append(continuation)
        return nil
      }
      if let turn { continuation.resume(returning: turn) }
    }
  }

  /// Hands out what was loaded; nil where it must be loaded again.
  private func settle(_ user: UserID, _ result: Result<CachedState, any Error>) -> Result<CachedState, any Error>? {
    typealias Outcome = Result<CachedState, any Error>
    let (waiting, settled, dropped) = contents.withLock {
      contents -> ([CheckedContinuation<Turn, Never>], Outcome?, [UserID: CachedState]) in
      let loading = contents.loading.removeValue(forKey: user) ?? Loading()
      if let published = contents.states.use(user) { return (loading.waiting, .success(published), [:]) }
      if loading.isOutdated { return (loading.waiting, nil, [:]) }
      // Who was to read for all has gone before it was begun: that is nobody else's error.
      if case .failure(is CancellationError) = result { return (loading.waiting, nil, [:]) }
      if case .success(let hot) = result { contents.states.insert(hot, of: user) }
      return (loading.waiting, result, contents.states.takeDropped())
    }
    _ = consume dropped
    for continuation in waiting { continuation.resume(returning: settled.map(Turn.share) ?? .again) }
    return settled
  }
}
