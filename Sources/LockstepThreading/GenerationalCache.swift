/// A bounded cache that keeps the most recently used values.
///
/// A value that is added, or found in the old generation, goes to the young one. When the young
/// generation has half of the capacity, the old one is dropped and the young one takes its place.
///
/// Its methods are inlinable, because otherwise other modules would run them unspecialized.
public struct GenerationalCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline var half: Int
  @usableFromInline let keepsDropped: Bool
  @usableFromInline let costOf: @Sendable (Value) -> Int
  @usableFromInline var young: [Key: Value] = [:]
  @usableFromInline var old: [Key: Value] = [:]
  @usableFromInline var youngCost = 0
  @usableFromInline var oldCost = 0
  @usableFromInline var dropped: [Key: Value] = [:]

  /// An empty cache. The costs of its values exceed the capacity only if one value costs more than
  /// half of it; a `capacity` below 2 counts as 2. With `keepsDropped`, the caller gets dropped
  /// values from `takeDropped()` and releases them outside its lock.
  @inlinable
  public init(capacity: Int, keepsDropped: Bool = false, cost: @escaping @Sendable (Value) -> Int = { _ in 1 }) {
    half = max(1, capacity / 2)
    self.keepsDropped = keepsDropped
    costOf = cost
  }

  /// How many values there are.
  @inlinable public var count: Int { young.count + old.count }
  /// All values.
  public var all: [Key: Value] { young.merging(old) { young, _ in young } }
  /// The costs of all values together.
  @inlinable public var cost: Int { youngCost + oldCost }

  /// The value of a key, which then counts as recently used.
  @inlinable
  public mutating func use(_ key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old.removeValue(forKey: key) else { return nil }
    oldCost -= costOf(value)
    insert(value, for: key)
    return value
  }

  /// The value of a key, which does not count as used.
  @inlinable
  public func peek(_ key: Key) -> Value? { young[key] ?? old[key] }

  /// Adds a value, or replaces the value of the key.
  @inlinable
  public mutating func insert(_ value: Value, for key: Key) {
    remove(key)
    let cost = costOf(value)
    if youngCost + cost > half { dropOld() }
    // The old generation costs more than half of the capacity if it has a very large value, or if the
    // capacity was lowered.
    if oldCost > half, oldCost + youngCost + cost > 2 * half { dropOld() }
    young[key] = value
    youngCost += cost
  }

  /// Changes the capacity.
  @inlinable
  public mutating func limit(to capacity: Int) {
    half = max(1, capacity / 2)
    if cost > 2 * half { dropOld() }
    if cost > 2 * half { dropOld() }
  }

  /// Removes the value of a key.
  @inlinable
  public mutating func remove(_ key: Key) {
    if let value = young.removeValue(forKey: key) { youngCost -= costOf(value) }
    if let value = old.removeValue(forKey: key) { oldCost -= costOf(value) }
  }

  /// The values that were dropped since the last call.
  @inlinable
  public mutating func takeDropped() -> [Key: Value] {
    if dropped.isEmpty { return [:] }
    defer { dropped = [:] }
    return dropped
  }

  @usableFromInline
  mutating func dropOld() {
    if keepsDropped { dropped.isEmpty ? dropped = old : dropped.merge(old) { first, _ in first } }
    old = young
    oldCost = youngCost
    young = [:]
    youngCost = 0
  }
}

extension GenerationalCache where Value == Void {
  @inlinable package mutating func insert(_ key: Key) { insert((), for: key) }

  /// Whether the cache has the key, which then counts as recently used.
  @inlinable package mutating func contains(_ key: Key) -> Bool { use(key) != nil }
}
