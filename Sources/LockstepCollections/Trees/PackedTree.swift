/// The elements of a collection in their order, in a B+tree of packed leaves.
///
/// A tree is a value. A changed tree shares all nodes with the old one except the changed leaf and
/// the branches above it. So a change takes O(log n) time and memory, and old trees stay valid.
struct PackedTree: Sendable {
  /// How the leaf of an element is found without its index.
  enum Order: Sendable {
    /// By the labels of the leaves: a list, whose order its user chooses.
    case labels
    /// By the names of the elements: a map.
    case names
  }

  /// Elements whose leaf has another label than before. An index of names must follow.
  enum LabelChange {
    case none
    case moved(PackedLeaf, from: UInt64)
    case all
  }

  let order: Order
  private(set) var root: PackedNode?

  init(_ order: Order) {
    self.order = order
  }

  var count: Int { root?.count ?? 0 }
  var bytes: Int { root?.bytes ?? 0 }
  var memory: Int { root?.memory ?? 0 }
  /// The length of the text, with a comma after each leaf.
  var length: Int { root?.length ?? 0 }
  var hasOneLeaf: Bool { if case .leaf? = root { true } else { root == nil } }

  /// Whether both trees are the same memory.
  func isIdentical(to other: PackedTree) -> Bool {
    guard let root, let otherRoot = other.root else { return root == nil && other.root == nil }
    return root.isIdentical(to: otherRoot)
  }

  // MARK: Reading

  /// The leaf with the element at an index, and the index of its first element. The index must be
  /// in range.
  func leaf(at index: Int) -> (leaf: PackedLeaf, start: Int)? {
    guard var node = root, index >= 0, index < node.count else { return nil }
    var start = 0
    while case .branch(let branch) = node {
      let child = branch.child(at: index - start)
      node = branch.children[child.place]
      start += child.start
    }
    return (node.first, start)
  }

  /// The last leaf whose first element `isBefore` accepts, or the first leaf. `isBefore` must
  /// accept a number of leaves from the beginning, and no other leaf.
  func lastLeaf(where isBefore: (PackedLeaf) -> Bool) -> (leaf: PackedLeaf, start: Int)? {
    guard var node = root else { return nil }
    var start = 0
    while case .branch(let branch) = node {
      var (low, high) = (0, branch.children.count - 1)
      while low < high {
        let middle = (low + high + 1) / 2
        if isBefore(branch.children[middle].first) { low = middle } else { high = middle - 1 }
      }
      for child in branch.children[..<low] { start += child.count }
      node = branch.children[low]
    }
    return (node.first, start)
  }

  func forEachLeaf(_ body: (PackedLeaf) throws -> Void) rethrows { try root?.forEachLeaf(body) }

  // MARK: Changing

  mutating func insert(_ element: PackedElement, at index: Int) -> LabelChange {
    guard let (leaf, start) = leaf(at: min(index, count - 1)) else {
      var builder = PackedLeafBuilder()
      builder.append(element)
      root = .leaf(builder.leaf(label: order == .labels ? Labels.first : 0))
      return .none
    }
    let offset = index - start
    let changed = leaf.replacing(offset..<offset, with: element)
    guard changed.isTooLarge else { return replace(leaf, at: start, with: changed) }
    // At an end of the collection, the new element gets a leaf of its own, because more elements
    // are likely to follow there. So the other leaves are full.
    let cut: Int? = if index == count { leaf.count } else if index == 0 { 1 } else { nil }
    return split(leaf, at: start, into: changed, cut)
  }

  /// Replaces the element at an index by one with the same name.
  mutating func replace(at index: Int, with element: PackedElement) -> LabelChange {
    guard let (leaf, start) = leaf(at: index) else { return .none }
    let offset = index - start
    let changed = leaf.replacing(offset..<(offset + 1), with: element)
    if changed.isTooLarge { return split(leaf, at: start, into: changed, nil) }
    return replace(leaf, at: start, with: changed)
  }

  mutating func remove(at index: Int) -> LabelChange {
    guard let (leaf, start) = leaf(at: index) else { return .none }
    let offset = index - start
    let rest = leaf.replacing(offset..<(offset + 1), with: nil)
    if rest.count == 0 {
      replaceLeaf(at: start, with: [])
      return .none
    }
    if rest.count < PackedLeaf.minimumCount, let change = merge(rest, of: leaf, at: start) { return change }
    return replace(leaf, at: start, with: rest)
  }

  private mutating func replace(_ leaf: PackedLeaf, at start: Int, with changed: PackedLeafBuilder) -> LabelChange {
    replaceLeaf(at: start, with: [changed.leaf(label: leaf.label)])
    return .none
  }

  private mutating func replaceLeaf(at start: Int, with leaves: [PackedLeaf]) {
    guard let root else { return }
    var nodes = root.replacingLeaf(at: start, with: leaves)
    if nodes.count > 1 { nodes = [.branch(PackedBranch(nodes))] }
    while case .branch(let branch)? = nodes.first, branch.children.count == 1 { nodes = branch.children }
    self.root = nodes.first
  }

  /// Moves the rest of a small leaf into a neighbor that has room.
  private mutating func merge(_ rest: PackedLeafBuilder, of leaf: PackedLeaf, at start: Int) -> LabelChange? {
    let moved = rest.leaf(label: leaf.label)
    for (neighbor, isNext) in [(self.leaf(at: start + leaf.count), true), (self.leaf(at: start - 1), false)] {
      guard let (other, otherStart) = neighbor, other.count + moved.count <= PackedLeaf.maximumCount * 3 / 4,
        other.text.count + moved.text.count < PackedLeaf.maximumLength / 2
      else { continue }
      let length = other.text.count + moved.text.count + 1
      var merged = PackedLeafBuilder(reserving: other.count + moved.count, length: length)
      for part in isNext ? [moved, other] : [other, moved] { merged.append(part, 0..<part.count) }
      replaceLeaf(at: start, with: [])
      replaceLeaf(at: isNext ? start : otherStart, with: [merged.leaf(label: other.label)])
      return order == .labels ? .moved(moved.labelled(other.label), from: leaf.label) : LabelChange.none
    }
    return nil
  }

  /// Replaces a leaf by two leaves, which begin with the first element and with that at `cut`.
  private mutating func split(
    _ leaf: PackedLeaf,
    at start: Int,
    into builder: PackedLeafBuilder,
    _ cut: Int?
  ) -> LabelChange {
    let whole = builder.leaf(label: leaf.label)
    let cut = cut ?? whole.middle
    guard order == .names else { return splitLabelled(leaf, at: start, whole, cut) }
    replaceLeaf(at: start, with: [whole.part(0..<cut, label: 0), whole.part(cut..<whole.count, label: 0)])
    return .none
  }

  private mutating func splitLabelled(
    _ leaf: PackedLeaf,
    at start: Int,
    _ whole: PackedLeaf,
    _ cut: Int
  ) -> LabelChange {
    let previous = start > 0 ? self.leaf(at: start - 1)?.leaf.label : nil
    let next = self.leaf(at: start + leaf.count)?.leaf.label
    let before = Labels.label(after: previous, before: leaf.label)
    let after = Labels.label(after: leaf.label, before: next)
    // The part with fewer elements moves, because each moved name changes the index, unless there
    // is more room for a label on the other side.
    let movesFirst: Bool
    switch (before, after) {
    case (nil, nil), (nil, _?): movesFirst = false
    case (_?, nil): movesFirst = true
    case (let before?, let after?):
      movesFirst = whole.count == cut * 2 ? leaf.label - before > after - leaf.label : cut * 2 < whole.count
    }
    let first = whole.part(0..<cut, label: movesFirst ? before ?? leaf.label : leaf.label)
    let last = whole.part(cut..<whole.count, label: movesFirst ? leaf.label : after ?? leaf.label)
    replaceLeaf(at: start, with: [first, last])
    if first.label == last.label {
      labelAll()
      return .all
    }
    return .moved(movesFirst ? first : last, from: leaf.label)
  }

  /// Gives all leaves new labels, because between two labels there is no room left.
  private mutating func labelAll() {
    var leaves: [PackedLeaf] = []
    forEachLeaf { leaves.append($0) }
    self = PackedTree(order, leaves: leaves)
  }
}

// MARK: Building

extension PackedTree {
  /// A tree of these leaves. A list's leaves get new labels.
  init(_ order: Order, leaves: [PackedLeaf]) {
    self.order = order
    var nodes = leaves.enumerated().map { place, leaf in
      PackedNode.leaf(order == .labels ? leaf.labelled(Labels.label(at: place, of: leaves.count)) : leaf)
    }
    while nodes.count > 1 {
      nodes = stride(from: 0, to: nodes.count, by: PackedBranch.maximumCount).map { start in
        .branch(PackedBranch(Array(nodes[start..<min(start + PackedBranch.maximumCount, nodes.count)])))
      }
    }
    root = nodes.first
  }
}

/// Builds a list or a map from all its elements, in their order. The keys of a map must ascend.
package struct PackedTreeBuilder {
  private var leaves: [PackedLeaf] = []
  /// Has memory for the elements of a usual leaf, so that it does not grow step by step.
  private var leaf = PackedLeafBuilder(reserving: PackedLeaf.maximumCount, length: 1024)
  private let order: PackedTree.Order
  /// The newest revision of an element.
  private var revision = Revision.none
  private var isSorted = true

  init(_ order: PackedTree.Order) {
    self.order = order
  }

  /// Builds a collection of this kind.
  package init(_ kind: CollectionMutation.Kind) {
    self.init(kind == .list ? .labels : .names)
  }

  mutating func append(_ element: PackedElement) {
    leaf.append(element)
    finishElement(element.revision)
  }

  /// Appends an element of a list, or a value of a map: its name in UTF-8, and its JSON.
  package mutating func append(_ name: Span<UInt8>, _ json: Span<UInt8>, revision: Revision) {
    switch order {
    case .labels: leaf.append(item: json, id: name, revision: revision)
    case .names: leaf.append(value: json, key: name, revision: revision)
    }
    finishElement(revision)
  }

  /// The collection. Its revision is the newest of its elements.
  package mutating func state() -> CollectionState {
    let tree = tree()
    switch order {
    case .labels: return .list(ListState(tree, revision: revision))
    case .names:
      return .map(isSorted ? MapState(tree, revision: revision) : MapState(MapValues(tree), revision: revision))
    }
  }

  mutating func tree() -> PackedTree {
    finishLeaf()
    return PackedTree(order, leaves: leaves)
  }

  private mutating func finishElement(_ revision: Revision) {
    self.revision = max(self.revision, revision)
    if leaf.count == PackedLeaf.maximumCount || leaf.text.count > PackedLeaf.maximumLength * 3 / 4 { finishLeaf() }
  }

  private mutating func finishLeaf() {
    guard leaf.count > 0 else { return }
    let built = leaf.exactLeaf(label: 0)
    if order == .names, !built.ascends(after: leaves.last) { isSorted = false }
    leaves.append(built)
    leaf.removeAll()
  }
}

/// The labels of a list's leaves: numbers that increase along the list, with gaps for new leaves.
enum Labels {
  static let bits = 40
  /// All labels are less.
  static let bound: UInt64 = 1 << UInt64(bits)
  static let first: UInt64 = bound / 2
  /// The distance at the ends of a list.
  private static let step: UInt64 = 1 << 20

  /// A label between two others, or beyond the first or last one; nil if there is no room.
  static func label(after previous: UInt64?, before next: UInt64?) -> UInt64? {
    let (low, high) = (previous ?? 0, next ?? bound)
    guard high - low > 1 else { return nil }
    let half = (high - low) / 2
    if next == nil { return low + min(step, half) }
    if previous == nil { return high - min(step, half) }
    return low + half
  }

  /// The label of a leaf of a list in which all leaves get new labels.
  static func label(at place: Int, of count: Int) -> UInt64 {
    count == 1 ? first : (bound / UInt64(count + 1)) * UInt64(place + 1)
  }
}

// MARK: Visiting

extension PackedTree {
  func appendText(to bytes: inout [UInt8]) {
    // Growing the array step by step would take longer than the copy.
    bytes.reserveCapacity(bytes.count + length)
    var isFirst = true
    forEachLeaf { leaf in
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: leaf.text)
      isFirst = false
    }
  }

  /// The elements from an index on, in order.
  struct Elements: IteratorProtocol, Sequence {
    private let tree: PackedTree
    private var index: Int
    private var current: (leaf: PackedLeaf, start: Int)?

    init(_ tree: PackedTree, from index: Int) {
      self.tree = tree
      self.index = index
      current = tree.leaf(at: index)
    }

    mutating func next() -> (leaf: PackedLeaf, offset: Int)? {
      guard let (leaf, start) = current else { return nil }
      let offset = index - start
      index += 1
      if offset + 1 == leaf.count { current = tree.leaf(at: index) }
      return (leaf, offset)
    }
  }
}
