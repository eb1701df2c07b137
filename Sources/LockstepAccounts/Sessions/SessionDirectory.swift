import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime

/// Finds the session of a token in memory or in the store.
///
/// - For a session in memory, it writes the time of use and the last cursor to the store, at most
///   once a minute.
/// - It reads other sessions from the store, in batches, and once for all waiting requests with the same token.
/// - It refuses a guessed token without a read, because its authentication tag is wrong
///   (`TokenIssuer`). A bounded set remembers tokens that are no longer valid.
/// - When `end(_:)` returns, the session is not in memory, even if it was being loaded, and the
///   observer was called.
///
/// All event loops share one directory. Times are in milliseconds since 1970.
package final class SessionDirectory: Sendable {
  package enum Lookup: Sendable {
    case session(LiveSession)
    case refused
    /// The store must be read: `load(_:at:)`.
    case unknown(UnknownToken)
    /// It may be a token of another issuer, which must be verified. The directory itself never finds this.
    case ofIssuer
  }

  /// A token with a valid authentication tag, but without a session in memory.
  // A class, because `TokenHash` is aligned to 32 bytes. Swift 6.3 damages the memory of an async function that
  // captures such a value.
  package final class UnknownToken: Sendable {
    fileprivate let hash: TokenHash

    fileprivate init(hash: TokenHash) {
      self.hash = hash
    }
  }

  /// The session of an identity, if it is in memory. Records its use.
  func session(of identity: TokenHash, at now: Int64) -> LiveSession? {
    let (result, usage) = shards[identity].withLock { shard in Self.find(identity, in: &shard, now, lifetime) }
    usageWriter.add(usage)
    guard case .session(let session) = result else { return nil }
    return session
  }

  /// Reads the session of an identity from the store; nil if there is none.
  func loadSession(
    of identity: TokenHash,
    from network: ClientNetwork,
    at now: Int64
  ) async throws(AccountsError) -> LiveSession? {
    // The session may have ended and begun again. The token of a session cannot.
    shards[identity].withLock { $0.refused.remove(identity) }
    return try await load(UnknownToken(hash: identity), from: network, at: now)
  }

  private struct Shard: Sendable {
    var table: SessionTable
    /// Tokens that are no longer valid.
    var refused: GenerationalCache<TokenHash, Void>
  }

  /// The shards by a hash.
  private struct Shards: Sendable {
    let all: [LockedState<Shard>]

    init(capacity: Int) {
      all = (0..<SessionDirectory.shardCount).map { _ in
        LockedState(
          Shard(
            table: SessionTable(capacity: capacity / SessionDirectory.shardCount),
            refused: GenerationalCache(capacity: SessionDirectory.refusedCount / SessionDirectory.shardCount)
          )
        )
      }
    }

    subscript(hash: TokenHash) -> LockedState<Shard> {
      all[Int(truncatingIfNeeded: hash.words.y % UInt64(SessionDirectory.shardCount))]
    }

    /// The session of a token, or nil if the token is not valid, as far as memory tells.
    func known(_ hash: TokenHash) -> SessionEntry?? {
      self[hash].withLock { shard in
        if let entry = shard.table.peek(hash) { return entry }
        return shard.refused.contains(hash) ? .some(nil) : nil
      }
    }

    /// Keeps what was read from the store, unless the session is in memory by now.
    func keep(_ loaded: SessionEntry?, of hash: TokenHash) -> SessionEntry? {
      self[hash].withLock { shard in
        if let known = shard.table.peek(hash) { return known }
        if let loaded { shard.table.insert(loaded) } else { shard.refused.insert(hash) }
        return loaded
      }
    }
  }

  /// The number of locks, so that event loops rarely contend for one.
  private static let shardCount = 16
  private static let refusedCount = 16_384

  package let sessionEndings = SessionEndingTracker()
  /// Counts the ends of sessions, and the changes of users' states.
  package let changes = ChangeCounts()

  private let shards: Shards
  private let observer: any AccountsObserver
  private let loader: BatchLoader<TokenHash, SessionEntry?>
  private let usageWriter: SessionUsageWriter
  private let tokenIssuer: TokenIssuer
  private let lifetime: Int64

  /// Sessions that a request holds are not evicted, so there may be more than `capacity` in memory.
  init(
    store: DurableStore,
    tokenIssuer: TokenIssuer,
    lifetime: Duration,
    capacity: Int,
    observer: any AccountsObserver
  ) {
    self.observer = observer
    self.tokenIssuer = tokenIssuer
    self.lifetime = lifetime.wholeMilliseconds
    usageWriter = SessionUsageWriter(writer: store.writer)
    let (shards, readers, changes) = (Shards(capacity: capacity), store.readers, changes)
    self.shards = shards
    // At most half of the reader threads, so that the others stay free for other reads.
    let options = BatchLoaderOptions(
      "sessions",
      size: 32,
      atOnce: store.readingThreads / 2,
      failsAll: StoreReaders.isFailure
    )
    loader = BatchLoader(options, known: { shards.known($0) }, keep: { shards.keep($1, of: $0) }) { batch in
      try readers.submit { connection in
        let stored = try SessionRecords(connection: connection).usage(ofTokens: Array(batch.keys))
        batch.read { hash in
          stored[hash].map { SessionEntry($0, tokenHash: hash, changes: changes[$0.user]) }
        }
      } completion: {
        batch.end($0)
      }
    }
  }

  /// Looks a token up in memory, and records its use. It never waits.
  ///
  /// Not generic, because every request calls this function from another Swift module. A generic
  /// function would not be specialized there, and would take twenty times as long.
  package func authenticate(_ text: Slice<UnsafeRawBufferPointer>, at now: Int64) -> Lookup {
    guard let token = Token(UnsafeRawBufferPointer(rebasing: text)) else { return .refused }
    let hash = token.hash
    let (result, usage) = shards[hash].withLock { shard in Self.find(hash, in: &shard, now, lifetime) }
    usageWriter.add(usage)
    return result ?? (tokenIssuer.hasMade(token) ? .unknown(UnknownToken(hash: hash)) : .refused)
  }

  /// Reads a token's session from the store; nil if the token is not valid. `network` is that of the client.
  package func load(
    _ token: UnknownToken,
    from network: ClientNetwork? = nil,
    at now: Int64
  ) async throws(AccountsError) -> LiveSession? {
    try await AccountsError.converting { try await withCompletion { load(token, from: network, at: now, $0) } }
  }

  /// Reads a token's session like `load(_:from:at:)`, for a request that waits without a task.
  package func load(
    _ token: UnknownToken,
    from network: ClientNetwork?,
    at now: Int64,
    _ completion: @escaping @Sendable (Result<LiveSession?, any Error>) -> Void
  ) {
    loader.load(token.hash, from: network?.hashValue) { result in
      completion(result.map { self.use($0, of: token, at: now) })
    }
  }

  /// Records the use of a session that was loaded. Nil if it has expired, or has ended since.
  private func use(_ loaded: SessionEntry?, of token: UnknownToken, at now: Int64) -> LiveSession? {
    guard let loaded else { return nil }
    let (result, usage) = shards[token.hash].withLock { shard in
      let found = Self.find(token.hash, in: &shard, now, lifetime)
      if loaded.expiresAt <= now { shard.refused.insert(token.hash) }
      return found
    }
    usageWriter.add(usage)
    // So far, the session is held, and is not evicted.
    return withExtendedLifetime(loaded) { if case .session(let session) = result { session } else { nil } }
  }

  package func note(cursor: String, of session: LiveSession) {
    _ = shards[session.tokenHash].withLock { shard in
      shard.table.use(session.tokenHash) { $0.setCursor(cursor) }
    }
  }

  /// Writes cursors and times of use that are only in memory. Call it before the writer shuts down.
  package func flush() async throws(AccountsError) {
    let usage = shards.all.flatMap { $0.withLock { $0.table.takeEvictedUsage() + $0.table.takeUsage() } }
    try await AccountsError.converting { try await usageWriter.write(usage) }
  }

  /// Ends the sessions in memory that the store does not have any more.
  package func verify(with connection: StoreConnection) throws {
    loader.invalidateAll()
    for shard in shards.all {
      end(try SessionRecords(connection: connection).ended(of: shard.withLock { $0.table.sessions }))
    }
  }

  /// Ends sessions in memory after their deletion is committed.
  package func end(_ sessions: [EndedSession]) {
    if sessions.isEmpty { return }
    var users: Set<UserID> = []
    for ended in sessions {
      loader.invalidate(ended.tokenHash)
      let live = shards[ended.tokenHash].withLock { shard in
        let live = shard.table.remove(ended.tokenHash)?.live
        live?.end()
        shard.refused.insert(ended.tokenHash)
        return live
      }
      if let live { users.insert(live.user) }
    }
    observer.sessionsEnded(sessions.map(\.id), of: users)
  }

  /// A session from the store, with its newer use if that is in memory.
  func latest(_ stored: StoredSession) -> Session {
    var session = stored.session
    guard let entry = shards[stored.tokenHash].withLock({ $0.table.peek(stored.tokenHash) }) else { return session }
    // Another node may have a later use.
    let lastSeenAt = Timestamp(millisecondsSince1970: entry.lastSeenAt)
    guard lastSeenAt >= session.lastSeenAt else { return session }
    session.lastSeenAt = lastSeenAt
    session.expiresAt = max(session.expiresAt, Timestamp(millisecondsSince1970: entry.expiresAt))
    session.cursor = entry.cursor
    return session
  }

  package var count: Int { shards.all.reduce(0) { $0 + $1.withLock { $0.table.count } } }

  /// The result for a token (nil if this shard does not know it), and the usage for the store.
  private static func find(
    _ hash: TokenHash,
    in shard: inout Shard,
    _ now: Int64,
    _ lifetime: Int64
  ) -> (Lookup?, [SessionUsage]) {
    let found = shard.table.use(hash) { entry -> (LiveSession, SessionUsage?)? in
      if entry.expiresAt <= now { return nil }
      return (entry.live, entry.use(at: now, lifetime: lifetime))
    }
    switch found {
    case .some(.some((let session, let use))):
      let usage = shard.table.takeEvictedUsage()
      return (.session(session), use.map { usage + [$0] } ?? usage)
    case .some(.none):
      // On another node, the session may have been used since. Then the store has a later end.
      shard.table.remove(hash)?.live.end()
      return (nil, [])
    case .none:
      return (shard.refused.contains(hash) ? .refused : nil, [])
    }
  }
}
