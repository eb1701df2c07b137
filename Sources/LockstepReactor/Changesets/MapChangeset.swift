/// The difference between two maps: which keys have another value, and which are gone.
public struct MapChangeset<Key: Hashable & Comparable & Sendable, Value: Equatable & Sendable>: Sendable, Equatable {
  /// The keys that are new or have another value, with that value.
  public var set: [Key: Value]
  /// The keys that are gone, ascending.
  public var removed: [Key]

  /// A changeset from its parts. A key in both counts as set.
  public init(set: [Key: Value] = [:], removed: [Key] = []) {
    self.set = set
    self.removed = removed
  }

  /// The difference from `old` to `new`, linear in their sizes (and n log n in the number of keys that are gone).
  public init(from old: [Key: Value], to new: [Key: Value]) {
    set = new.filter { key, value in old[key] != value }
    removed = old.keys.filter { new[$0] == nil }.sorted()
  }

  /// Whether the two maps are equal.
  public var isEmpty: Bool { self.set.isEmpty && removed.isEmpty }

  /// The map that this changeset leads to from `old`. Total: it fits every map.
  public func apply(to old: [Key: Value]) -> [Key: Value] {
    var new = old
    for key in removed { new[key] = nil }
    for (key, value) in set { new[key] = value }
    return new
  }

  /// What leads from `base` through this changeset and then `next` to the end: the smallest such
  /// changeset. What came and went, and what was changed back, is not in it.
  public func followed(by next: MapChangeset, from base: [Key: Value]) -> MapChangeset {
    MapChangeset(from: base, to: next.apply(to: apply(to: base)))
  }
}
