/// The difference between two maps: keys with a new value, and removed keys.
public struct MapChangeset<Key: Hashable & Comparable & Sendable, Value: Equatable & Sendable>: Sendable, Equatable {
  /// The keys that are new or have another value, with their new values.
  public var set: [Key: Value]
  /// The removed keys, ascending.
  public var removed: [Key]

  /// Makes a changeset. A key in both `set` and `removed` counts as set.
  public init(set: [Key: Value] = [:], removed: [Key] = []) {
    self.set = set
    self.removed = removed
  }

  /// The difference from `old` to `new`, in linear time, plus n log n for the removed keys.
  public init(from old: [Key: Value], to new: [Key: Value]) {
    set = new.filter { key, value in old[key] != value }
    removed = old.keys.filter { new[$0] == nil }.sorted()
  }

  /// Whether the changeset has no changes.
  public var isEmpty: Bool { self.set.isEmpty && removed.isEmpty }

  /// Applies this changeset to `old`. It fits every map.
  public func apply(to old: [Key: Value]) -> [Key: Value] {
    var new = old
    for key in removed { new[key] = nil }
    for (key, value) in set { new[key] = value }
    return new
  }

  /// Combines this changeset and `next` into the smallest changeset from `base` to the last map.
  public func followed(by next: MapChangeset, from base: [Key: Value]) -> MapChangeset {
    MapChangeset(from: base, to: next.apply(to: apply(to: base)))
  }
}
