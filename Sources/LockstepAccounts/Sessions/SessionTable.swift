import LockstepStore
import LockstepTime

/// A bounded table of sessions, found by the hash of their token. It keeps at least the
/// `capacity / 2` most recently used sessions, and all sessions that a request holds.
///
/// A new session goes to the young half, and so does a session that is found in the old half. When
/// the young half is full, the old half is evicted, and the young half becomes the old one. So a
/// session that is found in the young half stays where it is.
///
/// If requests hold many sessions, the young half may grow to twice the number that the last eviction
/// kept. So an eviction visits only a few sessions for each one that was inserted.
struct SessionTable: Sendable {
  private let half: Int
  private var young: [TokenHash: SessionEntry] = [:]
  private var old: [TokenHash: SessionEntry] = [:]
  private var evictedUsage: [SessionUsage] = []
  /// How many sessions the young half may have before the next eviction.
  private var limit: Int
  /// How many sessions all evictions have visited, for tests.
  private(set) var visited = 0

  init(capacity: Int) {
    half = max(1, capacity / 2)
    limit = half
  }

  var count: Int { young.count + old.count }

  var sessions: [EndedSession] {
    (Array(young.values) + old.values).map { EndedSession(id: $0.live.id, tokenHash: $0.live.tokenHash) }
  }

  /// Passes the entry, if there is one, to `body` and marks it as recently used.
  mutating func use<Result>(_ hash: TokenHash, _ body: (inout SessionEntry) -> Result) -> Result? {
    if let index = young.index(forKey: hash) { return body(&young.values[index]) }
    guard var entry = old.removeValue(forKey: hash) else { return nil }
    let result = body(&entry)
    insert(entry)
    return result
  }

  func peek(_ hash: TokenHash) -> SessionEntry? { young[hash] ?? old[hash] }

  mutating func insert(_ entry: SessionEntry) {
    if young.count >= limit { evictOld() }
    young[entry.live.tokenHash] = entry
  }

  mutating func remove(_ hash: TokenHash) -> SessionEntry? {
    young.removeValue(forKey: hash) ?? old.removeValue(forKey: hash)
  }

  /// Returns the unwritten uses of evicted sessions. From then on, they count as written.
  mutating func takeEvictedUsage() -> [SessionUsage] {
    // Every use calls this, and there is usually nothing to return.
    if evictedUsage.isEmpty { return [] }
    defer { evictedUsage = [] }
    return evictedUsage
  }

  /// Returns the unwritten uses of all sessions. From then on, they count as written.
  mutating func takeUsage() -> [SessionUsage] { Self.takeUsage(&young) + Self.takeUsage(&old) }

  /// Keeps the sessions that a request holds, because they must be found when they end.
  private mutating func evictOld() {
    visited += old.count
    var kept: [TokenHash: SessionEntry] = [:]
    Self.forEach(&old) { entry in
      if entry.isHeld { kept[entry.live.tokenHash] = entry }
    }
    for hash in kept.keys { old[hash] = nil }
    evictedUsage += Self.takeUsage(&old)
    old = young
    young = kept
    limit = max(half, 2 * kept.count)
  }

  private static func takeUsage(_ entries: inout [TokenHash: SessionEntry]) -> [SessionUsage] {
    var usage: [SessionUsage] = []
    forEach(&entries) { entry in
      if entry.isUnwritten { usage.append(entry.takeUsage()) }
    }
    return usage
  }

  /// Passes each entry in place. `entries.indices` would copy the dictionary and hold its sessions.
  private static func forEach(
    _ entries: inout [TokenHash: SessionEntry],
    _ body: (inout SessionEntry) -> Void
  ) {
    var index = entries.startIndex
    while index != entries.endIndex {
      body(&entries.values[index])
      entries.formIndex(after: &index)
    }
  }
}

/// A session in memory with its use. Times are in milliseconds since 1970.
struct SessionEntry: Sendable {
  /// The shortest time between two recorded uses.
  static let recordInterval: Int64 = 60_000

  private(set) var live: LiveSession
  private(set) var lastSeenAt: Int64
  private(set) var expiresAt: Int64
  private(set) var cursor: String?
  /// Whether the cursor is not in the store yet.
  private(set) var isUnwritten = false

  init(_ stored: SessionUsage, tokenHash: TokenHash, changes: ChangeCount = ChangeCount()) {
    live = LiveSession(id: stored.id, user: stored.user, tokenHash: tokenHash, changes: changes)
    lastSeenAt = stored.lastSeenAt.millisecondsSince1970
    expiresAt = stored.expiresAt.millisecondsSince1970
    cursor = stored.cursor
    live.setFresh(until: min(lastSeenAt + Self.recordInterval, expiresAt))
  }

  var isHeld: Bool {
    mutating get { !isKnownUniquelyReferenced(&live) }
  }

  /// Records a use, and returns it for the store. Nil if one was recorded less than a minute ago.
  mutating func use(at now: Int64, lifetime: Int64) -> SessionUsage? {
    guard now - lastSeenAt >= Self.recordInterval else { return nil }
    lastSeenAt = now
    expiresAt = now + lifetime
    live.setFresh(until: now + Self.recordInterval)
    return takeUsage()
  }

  /// Records the cursor of a request. It is written with the next use.
  mutating func setCursor(_ cursor: String) {
    guard self.cursor != cursor else { return }
    self.cursor = cursor
    isUnwritten = true
  }

  /// The use for the store. Its cursor then counts as written.
  mutating func takeUsage() -> SessionUsage {
    isUnwritten = false
    return SessionUsage(
      id: live.id,
      user: live.user,
      lastSeenAt: Timestamp(millisecondsSince1970: lastSeenAt),
      expiresAt: Timestamp(millisecondsSince1970: expiresAt),
      cursor: cursor
    )
  }
}
