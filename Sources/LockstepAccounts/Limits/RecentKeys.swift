/// A bounded set of keys that keeps at least the `capacity / 2` most recently added or found.
///
/// A key that is added or found goes to the young half. When the young half is full, the old half
/// is evicted, and the young half becomes the old one. So the set need not maintain an order.
struct RecentKeys<Key: Hashable & Sendable>: Sendable {
  private let half: Int
  private var young: Set<Key> = []
  private var old: Set<Key> = []

  init(capacity: Int) {
    half = max(1, capacity / 2)
  }

  var count: Int { young.count + old.count }

  mutating func insert(_ key: Key) {
    if young.contains(key) { return }
    old.remove(key)
    if young.count >= half {
      old = young
      young = []
    }
    young.insert(key)
  }

  /// Whether the key is in the set; it then counts as recent.
  mutating func find(_ key: Key) -> Bool {
    if young.contains(key) { return true }
    guard old.contains(key) else { return false }
    insert(key)
    return true
  }
}
