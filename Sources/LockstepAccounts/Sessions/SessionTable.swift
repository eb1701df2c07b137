import LockstepStore

/// A bounded table of sessions, found by the hash of their token. It keeps at least the
/// `capacity / 2` most recently used sessions, and all sessions that a request holds.
///
/// The table has a young and an old half. A new session goes to the young half, and so does a
/// session that is found in the old half. When the young half is full, the old half is evicted, and
/// the young half becomes the old one. So finding an active session normally moves nothing.
struct SessionTable: Sendable {
  private let half: Int
  private var young: [TokenHash: SessionEntry] = [:]
  private var old: [TokenHash: SessionEntry] = [:]
  private var evictedUsage: [SessionUsage] = []

  init(capacity: Int) {
    half = max(1, capacity / 2)
  }

  var count: Int { young.count + old.count }

  /// Passes the entry to `body` and marks it as recently used; nil without an entry.
  mutating func use<Result>(_ hash: TokenHash, _ body: (inout SessionEntry) -> Result) -> Result? {
    if let index = young.index(forKey: hash) { return body(&young.values[index]) }
    guard var entry = old.removeValue(forKey: hash) else { return nil }
    let result = body(&entry)
    insert(entry)
    return result
  }

  /// The entry, without marking it as used.
  func peek(_ hash: TokenHash) -> SessionEntry? { young[hash] ?? old[hash] }

  /// Adds an entry, which may evict others.
  mutating func insert(_ entry: SessionEntry) {
    if young.count >= half { evictOld() }
    young[entry.live.tokenHash] = entry
  }

  mutating func remove(_ hash: TokenHash) -> SessionEntry? {
    young.removeValue(forKey: hash) ?? old.removeValue(forKey: hash)
  }

  /// Takes the unwritten uses of evicted sessions. A second call does not return them again.
  mutating func takeEvictedUsage() -> [SessionUsage] {
    // Usually empty, and called on every use.
    if evictedUsage.isEmpty { return [] }
    defer { evictedUsage = [] }
    return evictedUsage
  }

  /// Takes the unwritten uses of all sessions. A second call does not return them again.
  mutating func takeUsage() -> [SessionUsage] { Self.takeUsage(&young) + Self.takeUsage(&old) }

  /// Keeps the sessions that a request holds, because they must be found when they end.
  private mutating func evictOld() {
    var kept: [TokenHash: SessionEntry] = [:]
    Self.forEach(&old) { entry in
      if entry.isHeld { kept[entry.live.tokenHash] = entry }
    }
    for hash in kept.keys { old[hash] = nil }
    evictedUsage += Self.takeUsage(&old)
    old = young
    young = kept
  }

  private static func takeUsage(_ entries: inout [TokenHash: SessionEntry]) -> [SessionUsage] {
    var usage: [SessionUsage] = []
    forEach(&entries) { entry in
      if entry.isUnwritten { usage.append(entry.takeUsage()) }
    }
    return usage
  }

  /// Passes each entry in place. The dictionary's `indices` would copy it and hold every session.
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
