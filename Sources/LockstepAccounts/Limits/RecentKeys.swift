import LockstepThreading

/// A bounded set of keys that keeps at least the `capacity / 2` most recently added or found.
///
/// A key that is added or found goes to the young half. When the young half is full, the old half
/// is evicted, and the young half becomes the old one. So the set need not maintain an order.
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
