import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime

/// Finds the session of a token in memory or in the store.
///
/// - For a session in memory, it writes the time of use and the last cursor to the store, at most
///   once a minute.
/// - It reads other sessions from the store, once for all waiting requests with the same token.
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
  package struct UnknownToken: Sendable {
    fileprivate let hash: TokenHash
  }

  /// The session of an identity, if it is in memory. Records its use.
  func session(of identity: TokenHash, at now: Int64) -> LiveSession? {
    let (result, usage) = shard(of: identity).withLock { shard in Self.find(identity, in: &shard, now, lifetime) }
    usageWriter.add(usage)
    guard case .session(let session) = result else { return nil }
    return session
  }

  /// Reads the session of an identity from the store; nil if there is none.
  func loadSession(of identity: TokenHash, at now: Int64) async throws(AccountsError) -> LiveSession? {
    // The session may have ended and begun again. The token of a session cannot.
    shard(of: identity).withLock { $0.refused.remove(identity) }
    return try await load(UnknownToken(hash: identity), at: now)
  }

  private struct Shard: Sendable {
    var table: SessionTable
    /// Tokens that are no longer valid.
    var refused: GenerationalCache<TokenHash, Void>
    /// Tokens whose session is being loaded after `beginLoading`, and whether it has ended since.
    var loading: [TokenHash: Bool] = [:]
  }

  /// The number of locks, so that event loops rarely contend for one.
  private static let shardCount = 16
  private static let refusedCount = 16_384

  package let sessionEndings = SessionEndingTracker()
  /// Counts the ends of sessions, and the changes of users' states.
  package let changes = ChangeCounts()

  private let shards: [LockedState<Shard>]
  private let observer: any AccountsObserver
  private let flights = SingleFlight<TokenHash, SessionEntry?, AccountsError>()
  private let readers: StoreReaders
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
    readers = store.readers
    self.observer = observer
    self.tokenIssuer = tokenIssuer
    self.lifetime = lifetime.wholeMilliseconds
    usageWriter = SessionUsageWriter(writer: store.writer)
    shards = (0..<Self.shardCount).map { _ in
      LockedState(
        Shard(
          table: SessionTable(capacity: capacity / Self.shardCount),
          refused: GenerationalCache(capacity: Self.refusedCount / Self.shardCount)
        )
      )
    }
  }

  /// Looks a token up in memory, and records its use. It never waits.
  ///
  /// Not generic, because every request calls this function from another Swift module. A generic
  /// function would not be specialized there, and would take twenty times as long.
  package func authenticate(_ text: Slice<UnsafeRawBufferPointer>, at now: Int64) -> Lookup {
    guard let token = Token(UnsafeRawBufferPointer(rebasing: text)) else { return .refused }
    let hash = token.hash
    let (result, usage) = shard(of: hash).withLock { shard in Self.find(hash, in: &shard, now, lifetime) }
    usageWriter.add(usage)
    return result ?? (tokenIssuer.hasMade(token) ? .unknown(UnknownToken(hash: hash)) : .refused)
  }

  /// Reads a token's session from the store; nil if the token is not valid.
  package func load(_ token: UnknownToken, at now: Int64) async throws(AccountsError) -> LiveSession? {
    let hash = token.hash
    var usage: [SessionUsage] = []
    let entry = try await flights.value(of: hash) { entry in
      shard(of: hash).withLock { Self.keep(entry, of: hash, in: &$0, at: now, lifetime, &usage) }
    } _: { () async throws(AccountsError) in
      let (known, isRefused) = shard(of: hash).withLock { ($0.table.peek(hash), $0.refused.contains(hash)) }
      if known != nil || isRefused { return known }
      return try await AccountsError.converting {
        try await readers.read { try SessionRecords(connection: $0).usage(ofToken: hash) }
      }
      .map { SessionEntry($0, tokenHash: hash, changes: changes[$0.user]) }
    }
    usageWriter.add(usage)
    return entry?.live
  }

  /// Begins to load a session on a reader thread. Returns false if the token is known in memory, or
  /// is being loaded in this way. Otherwise read the session and call `finishLoading`, or call
  /// `abandonLoading`.
  package func beginLoading(_ token: UnknownToken) -> Bool {
    let hash = token.hash
    return shard(of: hash).withLock { shard in
      guard shard.table.peek(hash) == nil, !shard.refused.contains(hash), shard.loading[hash] == nil else {
        return false
      }
      shard.loading[hash] = false
      return true
    }
  }

  /// Reads a token's session in the connection's transaction. Call `beginLoading` before the
  /// transaction's first statement.
  package func read(_ token: UnknownToken, from connection: StoreConnection) throws -> SessionUsage? {
    try SessionRecords(connection: connection).usage(ofToken: token.hash)
  }

  /// Keeps a session that was read. Returns nil if the token is not valid, or if the session has
  /// ended since `beginLoading`.
  package func finishLoading(_ token: UnknownToken, _ stored: SessionUsage?, at now: Int64) -> LiveSession? {
    let entry = stored.map { SessionEntry($0, tokenHash: token.hash, changes: changes[$0.user]) }
    var usage: [SessionUsage] = []
    let kept = shard(of: token.hash).withLock { shard -> SessionEntry? in
      if shard.loading.removeValue(forKey: token.hash) == true { return nil }
      return Self.keep(entry, of: token.hash, in: &shard, at: now, lifetime, &usage)
    }
    usageWriter.add(usage)
    return kept?.live
  }

  /// Ends a load that failed.
  package func abandonLoading(_ token: UnknownToken) {
    shard(of: token.hash).withLock { $0.loading[token.hash] = nil }
  }

  private static func keep(
    _ loaded: SessionEntry?,
    of hash: TokenHash,
    in shard: inout Shard,
    at now: Int64,
    _ lifetime: Int64,
    _ usage: inout [SessionUsage]
  ) -> SessionEntry? {
    if let known = shard.table.peek(hash) { return known }
    guard var entry = loaded, entry.expiresAt > now else {
      shard.refused.insert(hash)
      return nil
    }
    if let use = entry.use(at: now, lifetime: lifetime) { usage.append(use) }
    shard.table.insert(entry)
    usage += shard.table.takeEvictedUsage()
    return entry
  }

  package func note(cursor: String, of session: LiveSession) {
    _ = shard(of: session.tokenHash).withLock { shard in
      shard.table.use(session.tokenHash) { $0.setCursor(cursor) }
    }
  }

  /// Writes cursors and times of use that are only in memory. Call it before the writer shuts down.
  package func flush() async throws(AccountsError) {
    let usage = shards.flatMap { $0.withLock { $0.table.takeEvictedUsage() + $0.table.takeUsage() } }
    try await AccountsError.converting { try await usageWriter.write(usage) }
  }

  /// Ends the sessions in memory that the store does not have any more.
  package func verify(with connection: StoreConnection) throws {
    flights.invalidateAll()
    for shard in shards {
      let sessions = shard.withLock { shard in
        for hash in shard.loading.keys { shard.loading[hash] = true }
        return shard.table.sessions
      }
      end(try SessionRecords(connection: connection).ended(of: sessions))
    }
  }

  /// Ends sessions in memory after their deletion is committed.
  package func end(_ sessions: [EndedSession]) {
    if sessions.isEmpty { return }
    var users: Set<UserID> = []
    for ended in sessions {
      flights.invalidate(ended.tokenHash)
      let live = shard(of: ended.tokenHash).withLock { shard in
        let live = shard.table.remove(ended.tokenHash)?.live
        live?.end()
        shard.refused.insert(ended.tokenHash)
        if shard.loading[ended.tokenHash] != nil { shard.loading[ended.tokenHash] = true }
        return live
      }
      if let live { users.insert(live.user) }
    }
    observer.sessionsEnded(sessions.map(\.id), of: users)
  }

  /// A session from the store, with its newer use if that is in memory.
  func latest(_ stored: StoredSession) -> Session {
    var session = stored.session
    guard let entry = shard(of: stored.tokenHash).withLock({ $0.table.peek(stored.tokenHash) }) else { return session }
    // Another node may have a later use.
    let lastSeenAt = Timestamp(millisecondsSince1970: entry.lastSeenAt)
    guard lastSeenAt >= session.lastSeenAt else { return session }
    session.lastSeenAt = lastSeenAt
    session.expiresAt = max(session.expiresAt, Timestamp(millisecondsSince1970: entry.expiresAt))
    session.cursor = entry.cursor
    return session
  }

  package var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.table.count } } }

  private func shard(of hash: TokenHash) -> LockedState<Shard> {
    shards[Int(truncatingIfNeeded: hash.words.y % UInt64(Self.shardCount))]
  }

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
