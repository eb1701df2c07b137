/// A bounded set of keys: those added or found most lately stay, at least half as many as there is room for.
///
/// Two halves: what is added or found goes to the young one; when that is full, the old one is forgotten and the young
/// one takes its place. So nothing has to be kept in order.
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

  /// Whether the key is there; then it counts as new.
  mutating func find(_ key: Key) -> Bool {
    if young.contains(key) { return true }
    guard old.contains(key) else { return false }
    insert(key)
    return true
  }
}
