import LockstepThreading

/// A bounded set of keys that keeps at least the `capacity / 2` most recently added or found.
struct RecentKeys<Key: Hashable & Sendable>: Sendable {
  private var keys: GenerationalCache<Key, Void>

  init(capacity: Int) {
    keys = GenerationalCache(capacity: capacity)
  }

  var count: Int { keys.count }

  mutating func insert(_ key: Key) {
    if !find(key) { keys.insert((), for: key) }
  }

  /// Whether the key is in the set; it then counts as recent.
  mutating func find(_ key: Key) -> Bool { keys.use(key) != nil }
}
