/// A bounded table that keeps at least the `capacity / 2` most recently added or found values.
///
/// A value that is added or found goes to the young half. When that is full, the old half is
/// evicted and the young one takes its place, so that no order has to be maintained.
package struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let half: Int
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]

  package init(capacity: Int) {
    half = max(1, capacity / 2)
  }

  package var count: Int { young.count + old.count }

  package mutating func insert(_ value: Value, for key: Key) {
    old[key] = nil
    if young[key] == nil, young.count >= half {
      old = young
      young = [:]
    }
    young[key] = value
  }

  /// The value of a key, which then counts as recent.
  package mutating func find(_ key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old[key] else { return nil }
    insert(value, for: key)
    return value
  }
}

extension RecentTable where Value == Void {
  package mutating func insert(_ key: Key) { insert((), for: key) }

  package mutating func contains(_ key: Key) -> Bool { find(key) != nil }
}
