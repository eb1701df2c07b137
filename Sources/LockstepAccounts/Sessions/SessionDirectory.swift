import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime

/// Who a token belongs to, from memory: the first thing that every request asks.
///
/// - A session that is in memory costs a hash of the token and one short lock. Nothing waits and nothing is written,
///   but once a minute a note of when it was used and the cursor that it last asked from.
/// - A session that isn't is read from the store, once however many requests ask for it at a time.
/// - A token that somebody made up is refused by its tag, and one that was valid once from a bounded memory of such: no
///   guessing fills the memory or makes the store read.
/// - A session that ends is gone from memory before `end(_:)` returns, whatever is being read meanwhile, and those who
///   listen are told.
///
/// All event loops share one. Times are in milliseconds since 1970, handed in, so that a loop may read its clock once for
/// many requests.
public final class SessionDirectory: Sendable {
  /// What the memory says of a token.
  public enum HandlerResult: Sendable {
    /// Whose it is.
    case session(LiveSession)
    /// It's nobody's.
    case refused
    /// It may be somebody's: `load(_:at:)` knows.
    case unknown(UnknownToken)
  }

  /// A token that this store has made, and that isn't in memory.
  public struct UnknownToken: Sendable {
    fileprivate let hash: TokenHash
  }

  private struct Shard: Sendable {
    var table: SessionTable
    /// Tokens that were valid once, or whose session has ended just now.
    var refused: RecentKeys<TokenHash>
    var loading: [TokenHash: Loading] = [:]
  }

  /// A session that is being read for those who wait for it.
  private struct Loading: Sendable {
    var waiting: [CheckedContinuation<Turn, Never>] = []
    /// Whether the session has ended since the reading began, so that what is read may be out of date.
    var hasEnded = false
  }

  private enum Turn: Sendable {
    /// The caller reads for all.
    case lead
    /// Somebody has read it.
    case share(Result<LiveSession?, AccountsError>)
  }

  /// So many locks, so that loops rarely meet at one.
  private static let shardCount = 16
  /// How many tokens that are known to be bad are remembered.
  private static let refusedCount = 16_384

  /// What is being written that may end sessions.
  package let endings = SessionEndingTracker()

  private let shards: [LockedState<Shard>]
  private let listeners = LockedState<[@Sendable ([SessionID]) -> Void]>([])
  private let readers: ReaderPool
  private let notebook: SessionUsageWriter
  private let mint: TokenIssuer
  private let lifetime: Int64

  /// - Parameters:
  ///   - readers: Where sessions are read that aren't in memory.
  ///   - writer: Where their use is noted.
  ///   - mint: What tokens are recognised by.
  ///   - lifetime: How long after its last use a token ends.
  ///   - capacity: How many sessions are kept in memory, some 300 bytes each; more only while requests hold them.
  init(readers: ReaderPool, writer: DatabaseWriter, mint: TokenIssuer, lifetime: Duration, capacity: Int) {
    self.readers = readers
    self.mint = mint
    self.lifetime = lifetime.wholeMilliseconds
    notebook = SessionUsageWriter(writer: writer)
    shards = (0..<Self.shardCount).map { _ in
      LockedState(
        Shard(
          table: SessionTable(capacity: capacity / Self.shardCount),
          refused: RecentKeys(capacity: Self.refusedCount / Self.shardCount)
        )
      )
    }
  }

  /// Whose token it is, as far as the memory knows, and notes its use at this time. `text` is the token as it came. Never
  /// waits.
  ///
  /// Not generic: a request of every kind comes here from another module, where a generic function
  /// would run unspecialized, at twenty times the cost.
  public func authenticate(_ text: Slice<UnsafeRawBufferPointer>, at now: Int64) -> HandlerResult {
    lookUp(text, at: now)
  }

  func authenticate(_ text: some Collection<UInt8>, at now: Int64) -> HandlerResult { lookUp(text, at: now) }

  private func lookUp(_ text: some Collection<UInt8>, at now: Int64) -> HandlerResult {
    guard let token = Token(text) else { return .refused }
    let hash = token.hash
    let (answer, notes) = shard(of: hash).withLock { shard in Self.answer(&shard, hash, now, lifetime) }
    notebook.add(notes)
    return answer ?? (mint.hasMade(token) ? .unknown(UnknownToken(hash: hash)) : .refused)
  }

  /// Whose token it is, from the store; nil when it's nobody's. To be called when the memory doesn't know.
  public func load(_ token: UnknownToken, at now: Int64) async throws(AccountsError) -> LiveSession? {
    let hash = token.hash
    switch await turn(hash) {
    case .share(let result):
      return try result.get()
    case .lead:
      let stored: Result<StoredSession?, AccountsError>
      do {
        stored = .success(try await readers.read { try SessionRecords(connection: $0).session(withToken: hash) })
      } catch {
        stored = .failure(AccountsError(thrown: error))
      }
      return try settle(hash, stored, at: now).get()
    }
  }

  /// Whose token it is, from memory or, where that doesn't know, from the store; nil when it's nobody's.
  public func session(of text: some Collection<UInt8>, at now: Int64) async throws(AccountsError) -> LiveSession? {
    switch lookUp(text, at: now) {
    case .session(let session): session
    case .refused: nil
    case .unknown(let token): try await load(token, at: now)
    }
  }

  /// Remembers the cursor that a session has asked from; it's written together with the session's next use.
  public func note(cursor: String, of session: LiveSession) {
    _ = shard(of: session.tokenHash).withLock { shard in
      shard.table.use(session.tokenHash) { $0.ask(from: cursor) }
    }
  }

  /// Tells `listener` of sessions that have ended, from now on: after `isEnded` of them says so, on whatever thread ends
  /// them, which waits meanwhile. So it should be quick. Sessions that just expire aren't told.
  public func whenEnded(_ listener: @escaping @Sendable ([SessionID]) -> Void) {
    listeners.withLock { $0.append(listener) }
  }

  /// Writes all that is only in memory: cursors, and times of use. To be called before the writer is shut down.
  public func flush() async throws(AccountsError) {
    let notes = shards.flatMap { $0.withLock { $0.table.takeNotesOfForgotten() + $0.table.takeNotes() } }
    do {
      try await notebook.write(notes)
    } catch {
      throw AccountsError(thrown: error)
    }
  }

  /// Takes sessions out of memory that are no longer in the store. To be called when their deletion is on disk.
  func end(_ sessions: [EndedSession]) {
    if sessions.isEmpty { return }
    for ended in sessions {
      shard(of: ended.tokenHash).withLock { shard in
        shard.table.remove(ended.tokenHash)?.live.end()
        shard.refused.insert(ended.tokenHash)
        shard.loading[ended.tokenHash]?.hasEnded = true
      }
    }
    let ids = sessions.map(\.id)
    for listener in listeners.withLock({ $0 }) { listener(ids) }
  }

  /// What the store says of a session, with what the memory knows better.
  func latest(_ stored: StoredSession) -> Session {
    var session = stored.session
    guard let entry = shard(of: stored.tokenHash).withLock({ $0.table.peek(stored.tokenHash) }) else { return session }
    session.lastSeenAt = Timestamp(millisecondsSince1970: entry.lastSeenAt)
    session.expiresAt = Timestamp(millisecondsSince1970: entry.expiresAt)
    session.cursor = entry.cursor
    return session
  }

  /// How many sessions are in memory.
  package var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.table.count } } }

  private func shard(of hash: TokenHash) -> LockedState<Shard> {
    shards[Int(truncatingIfNeeded: hash.words.y % UInt64(Self.shardCount))]
  }

  /// What a shard knows of a token, nil for nothing; and what is to be written.
  private static func answer(
    _ shard: inout Shard,
    _ hash: TokenHash,
    _ now: Int64,
    _ lifetime: Int64
  ) -> (HandlerResult?, [SessionUsage]) {
    let found = shard.table.use(hash) { entry -> (LiveSession, SessionUsage?)? in
      if entry.expiresAt <= now { return nil }
      return (entry.live, entry.use(at: now, lifetime: lifetime))
    }
    switch found {
    case .some(.some((let session, let note))):
      let notes = shard.table.takeNotesOfForgotten()
      return (.session(session), note.map { notes + [$0] } ?? notes)
    case .some(.none):
      shard.table.remove(hash)?.live.end()
      shard.refused.insert(hash)
      return (.refused, [])
    case .none:
      return (shard.refused.find(hash) ? .refused : nil, [])
    }
  }

  private func turn(_ hash: TokenHash) async -> Turn {
    await withCheckedContinuation { continuation in
      let turn = shard(of: hash).withLock { shard -> Turn? in
        if let entry = shard.table.peek(hash) { return .share(.success(entry.live)) }
        if shard.refused.find(hash) { return .share(.success(nil)) }
        if shard.loading[hash] == nil {
          shard.loading[hash] = Loading()
          return .lead
        }
        shard.loading[hash]?.waiting.append(continuation)
        return nil
      }
      if let turn { continuation.resume(returning: turn) }
    }
  }

  /// Takes in what was read, and tells everybody who waits for it.
  private func settle(
    _ hash: TokenHash,
    _ stored: Result<StoredSession?, AccountsError>,
    at now: Int64
  ) -> Result<LiveSession?, AccountsError> {
    let (result, waiting, notes) = shard(of: hash).withLock { shard in
      let loading = shard.loading.removeValue(forKey: hash) ?? Loading()
      var notes: [SessionUsage] = []
      let result = stored.map { stored -> LiveSession? in
        guard !loading.hasEnded, let stored, stored.session.expiresAt.millisecondsSince1970 > now else {
          shard.refused.insert(hash)
          return nil
        }
        var entry = SessionEntry(stored)
        if let note = entry.use(at: now, lifetime: lifetime) { notes.append(note) }
        shard.table.insert(entry)
        return entry.live
      }
      return (result, loading.waiting, notes + shard.table.takeNotesOfForgotten())
    }
    notebook.add(notes)
    for continuation in waiting { continuation.resume(returning: .share(result)) }
    return result
  }
}
