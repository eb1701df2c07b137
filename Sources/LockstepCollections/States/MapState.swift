import LockstepJSON

/// A value of a map.
public struct MapValue: Sendable {
  // The value stays in the text of its leaf, and is copied only when it is read.
  private let content: [UInt8]
  private let range: Range<Int>
  /// The revision of its last change.
  public let revision: Revision

  init(_ leaf: PackedLeaf, _ offset: Int) {
    content = leaf.text
    range = leaf.valueRange(at: offset)
    revision = leaf.entries[offset].revision
  }

  package init(encoded: [UInt8], revision: Revision) {
    content = encoded
    range = 0..<encoded.count
    self.revision = revision
  }

  /// The JSON, as sent to clients.
  public var encoded: [UInt8] { Array(text) }

  /// The value.
  public var json: JSON { JSON(trusting: encoded) }

  /// The JSON, without a copy.
  package var text: ArraySlice<UInt8> { content[range] }
}

extension MapValue: Equatable {
  /// Two values are equal if clients see the same bytes.
  public static func == (left: MapValue, right: MapValue) -> Bool { left.text == right.text }
}

/// A change of a map. Make a mutation with `setting(_:to:)`.
public enum MapMutation: Sendable, Equatable {
  /// A key was given this value.
  case set(key: String, value: EncodedJSON)
  /// A key and its value were removed.
  case removed(key: String)
  /// All keys were removed.
  case cleared

  /// Sets the value of a key.
  public static func setting(_ key: String, to value: JSON) -> MapMutation { .set(key: key, value: EncodedJSON(value)) }

  /// Compares the bytes of the keys and of the values.
  public static func == (left: MapMutation, right: MapMutation) -> Bool {
    switch (left, right) {
    case (.set(let key, let value), .set(let otherKey, let otherValue)):
      key.hasSameBytes(as: otherKey) && value == otherValue
    case (.removed(let key), .removed(let otherKey)): key.hasSameBytes(as: otherKey)
    case (.cleared, .cleared): true
    default: false
    }
  }
}

/// A map of keys and values, at one revision.
///
/// A copy is free. A change takes O(log n), because the changed map shares most of its memory with
/// the map before it.
public struct MapState: Sendable {
  /// The revision of the last change. While mutations are applied, it is their revision.
  public internal(set) var revision: Revision
  private(set) var tree: PackedTree
  /// The changes since recording began, or `nil` while nothing is recorded.
  private var edits: [MapEdit]?

  /// An empty map.
  public init() { self.init([]) }

  /// The keys and values, in the order of the keys' bytes.
  public var values: MapValues { MapValues(tree) }

  /// The number of values.
  public var count: Int { tree.count }

  /// The size of the keys and values in bytes.
  public var bytes: Int { tree.bytes }

  /// The memory in bytes.
  package var memory: Int { tree.memory }

  /// The value of a key, or `nil` if there is none.
  public subscript(key: String) -> MapValue? { values[ElementKey(key)] }

  /// A map of these values. Of two values with the same key, the last is kept.
  package init(_ values: some Sequence<(key: ElementKey, value: MapValue)>, revision: Revision = .none) {
    self.revision = revision
    var builder = PackedTreeBuilder(.names)
    let sorted = Array(values).enumerated().sorted { ($0.element.key, $0.offset) < ($1.element.key, $1.offset) }
    for (place, entry) in sorted.enumerated() {
      let (key, value) = entry.element
      if place + 1 < sorted.count, sorted[place + 1].element.key == key { continue }
      builder.append(PackedElement(value: value.encoded, key: key, revision: value.revision))
    }
    tree = builder.tree()
  }

  init(_ tree: PackedTree, revision: Revision) {
    self.revision = revision
    self.tree = tree
  }

  /// Applies a mutation. It never fails. Removing a missing key changes nothing.
  public mutating func apply(_ mutation: MapMutation) {
    switch mutation {
    case .set(let key, let value):
      let key = ElementKey(key)
      let element = PackedElement(value: value.encoded, key: key, revision: revision)
      let place = tree.place(of: key)
      _ = place.isFound ? tree.replace(at: place.index, with: element) : tree.insert(element, at: place.index)
      edits?.append(.set(key, value))
    case .removed(let key):
      let place = tree.place(of: ElementKey(key))
      if place.isFound { _ = tree.remove(at: place.index) }
      edits?.append(.removed(ElementKey(key)))
    case .cleared:
      tree = PackedTree(.names)
      if edits != nil { edits = [.cleared] }
    }
  }

  /// Calls `reduce` to change the map at a revision, and returns the edits. If `reduce` has
  /// assigned another map, the edits contain the whole map.
  package mutating func recordEdits(in revision: Revision, of reduce: (inout MapState) -> Void) -> [MapEdit] {
    self.revision = revision
    edits = []
    reduce(&self)
    if let edits {
      self.edits = nil
      self.revision = revision
      return edits
    }
    let values = values.map { ($0.key, MapValue(encoded: $0.value.encoded, revision: revision)) }
    self = MapState(values, revision: revision)
    return [.cleared]
      + values.map { .set($0.0, EncodedJSON($0.1.json, encoded: $0.1.encoded)) }
  }

  /// The number of values and their size after these mutations. The mutations must name each key at
  /// most once.
  package func size(after mutations: [MapMutation]) -> (count: Int, bytes: Int) {
    mutations.reduce((count, bytes)) { size, mutation in
      switch mutation {
      case .set(let key, let value):
        let old = self[key]
        let grown = value.encoded.count - (old?.text.count ?? -key.utf8.count)
        return (size.count + (old == nil ? 1 : 0), size.bytes + grown)
      case .removed(let key):
        guard let old = self[key] else { return size }
        return (size.count - 1, size.bytes - key.utf8.count - old.text.count)
      case .cleared: return (0, 0)
      }
    }
  }
}

extension MapState: Equatable {
  /// Two maps are equal if their revisions are equal and clients see the same values.
  public static func == (left: MapState, right: MapState) -> Bool {
    left.revision == right.revision && left.tree.hasSameElements(as: right.tree)
  }
}

extension MapState {
  /// The length of the text that `appendText` appends, approximately.
  package var length: Int { tree.length }

  /// Appends the members of the map as a JSON object, without the braces. `others` are in order,
  /// and the map has none of their keys.
  package func appendText(to bytes: inout [UInt8], with others: [(key: ElementKey, value: MapValue)] = []) {
    if others.isEmpty { return tree.appendText(to: &bytes) }
    bytes.reserveCapacity(bytes.count + others.reduce(length) { $0 + $1.key.text.utf8.count + $1.value.text.count + 4 })
    var rest = others[...]
    let start = bytes.count
    func separate() { if bytes.count > start { bytes.append(UInt8(ascii: ",")) } }
    func append(_ other: (key: ElementKey, value: MapValue)) {
      separate()
      bytes.append(json: other.key.text)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: other.value.text)
    }
    tree.forEachLeaf { leaf in
      var offset = 0
      while offset < leaf.count {
        let end = rest.first.map { leaf.place(of: $0.key).offset } ?? leaf.count
        if end > offset {
          separate()
          bytes.append(contentsOf: leaf.text[leaf.range(at: offset).lowerBound..<leaf.range(at: end - 1).upperBound])
          offset = end
        }
        if end < leaf.count, let other = rest.popFirst() { append(other) }
      }
    }
    for other in rest { append(other) }
  }

  /// The texts of the members, as JSON with commas between them, as they are in memory. Each text
  /// has one or several members.
  package var texts: [[UInt8]] { CollectionState.map(self).texts }

  /// The keys whose values differ between this map and a later one, in order. Skips what both
  /// share.
  package func changedKeys(in later: MapState) -> [ElementKey] {
    let comparison = TreeComparison(tree, later.tree)
    let (old, new) = (TreeComparison.elements(comparison.old), TreeComparison.elements(comparison.new))
    var keys: [ElementKey] = []
    var (left, right) = (0, 0)
    while left < old.count || right < new.count {
      let isOld = left < old.count && (right == new.count || old[left].name <= new[right].name)
      let isNew = right < new.count && (left == old.count || new[right].name <= old[left].name)
      if !(isOld && isNew && old[left].isEqual(to: new[right])) {
        keys.append(isOld ? old[left].name : new[right].name)
      }
      if isOld { left += 1 }
      if isNew { right += 1 }
    }
    return keys
  }

  /// The memory that this version does not share with a later one, in bytes.
  package func memory(notIn later: MapState) -> Int { TreeComparison(tree, later.tree).oldMemory }
}

/// The keys and values of a map, in the order of the keys' bytes. A value is found in O(log n).
public struct MapValues: RandomAccessCollection, Sendable {
  let tree: PackedTree

  init(_ tree: PackedTree) {
    self.tree = tree
  }

  /// 0.
  public var startIndex: Int { 0 }

  /// The number of values.
  public var endIndex: Int { tree.count }

  /// The key and value at an index.
  public subscript(index: Int) -> (key: ElementKey, value: MapValue) {
    guard let (leaf, start) = tree.leaf(at: index) else {
      preconditionFailure("The map has \(tree.count) values, and none at index \(index).")
    }
    return (leaf.name(at: index - start), MapValue(leaf, index - start))
  }

  /// The value of a key, or `nil` if there is none.
  public subscript(key: ElementKey) -> MapValue? {
    guard let (leaf, _) = tree.lastLeaf(where: { !$0.begins(after: key) }) else { return nil }
    let (offset, isFound) = leaf.place(of: key)
    return isFound ? MapValue(leaf, offset) : nil
  }

  /// The keys, ascending.
  public var keys: [ElementKey] { map(\.key) }

  /// The keys that begin with a prefix, and their values.
  package func values(withPrefix prefix: String) -> [(key: ElementKey, value: MapValue)] {
    var elements = PackedTree.Elements(tree, from: tree.place(of: ElementKey(prefix)).index)
    var values: [(key: ElementKey, value: MapValue)] = []
    while let (leaf, offset) = elements.next() {
      let key = leaf.name(at: offset)
      guard key.hasPrefix(prefix) else { break }
      values.append((key, MapValue(leaf, offset)))
    }
    return values
  }

  /// Visits each leaf once.
  public func makeIterator() -> Iterator { Iterator(tree) }

  /// Visits the keys and values in their order.
  public struct Iterator: IteratorProtocol {
    private var elements: PackedTree.Elements

    fileprivate init(_ tree: PackedTree) {
      elements = PackedTree.Elements(tree, from: 0)
    }

    /// The next key and value.
    public mutating func next() -> (key: ElementKey, value: MapValue)? {
      elements.next().map { ($0.leaf.name(at: $0.offset), MapValue($0.leaf, $0.offset)) }
    }
  }
}

extension PackedTree {
  /// The index of the first element of a map whose key is not less than `key`, and whether it has
  /// this key.
  fileprivate func place(of key: ElementKey) -> (index: Int, isFound: Bool) {
    guard let (leaf, start) = lastLeaf(where: { !$0.begins(after: key) }) else { return (0, false) }
    let (offset, isFound) = leaf.place(of: key)
    return (start + offset, isFound)
  }
}
