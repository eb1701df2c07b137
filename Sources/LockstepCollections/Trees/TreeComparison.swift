/// The leaves in which two versions of a collection differ, and the runs of elements that they
/// share. The comparison skips shared branches, so it takes O(changes · log n).
struct TreeComparison {
  /// A leaf with the index of its first element.
  struct Place {
    let leaf: PackedLeaf
    let start: Int
  }

  /// Elements of shared leaves, which follow one another in both versions.
  struct Run {
    let oldStart: Int
    let newStart: Int
    var count: Int
  }

  /// The leaves that only the old version has, in order.
  private(set) var old: [Place] = []
  /// The leaves that only the new version has, in order.
  private(set) var new: [Place] = []
  private(set) var shared: [Run] = []
  /// The memory of the nodes that only the old version has.
  private(set) var oldMemory = 0

  init(_ old: PackedTree, _ new: PackedTree) {
    var before = Cursor(old.root)
    var after = Cursor(new.root)
    // Leaves come in the same order in both versions, and a shared leaf has the same label or the
    // same first name in both. So it comes to the top of both cursors at the same time.
    while let left = before.top, let right = after.top {
      if left.isIdentical(to: right) {
        share(left.count, before.index, after.index)
        before.skip()
        after.skip()
      } else if Self.precedes(right.first, left.first, old.order) {
        takeNew(&after)
      } else if Self.precedes(left.first, right.first, old.order) {
        takeOld(&before)
      } else if left.height >= right.height {
        takeOld(&before)
      } else {
        takeNew(&after)
      }
    }
    while before.top != nil { takeOld(&before) }
    while after.top != nil { takeNew(&after) }
  }

  private static func precedes(_ left: PackedLeaf, _ right: PackedLeaf, _ order: PackedTree.Order) -> Bool {
    switch order {
    case .labels: left.label < right.label
    case .names: left !== right && right.begins(after: left.name(at: 0))
    }
  }

  private mutating func share(_ count: Int, _ oldStart: Int, _ newStart: Int) {
    if let last = shared.last, last.oldStart + last.count == oldStart, last.newStart + last.count == newStart {
      shared[shared.count - 1].count += count
    } else {
      shared.append(Run(oldStart: oldStart, newStart: newStart, count: count))
    }
  }

  private mutating func takeOld(_ cursor: inout Cursor) {
    oldMemory += cursor.ownMemory
    let index = cursor.index
    if let leaf = cursor.take() { old.append(Place(leaf: leaf, start: index)) }
  }

  private mutating func takeNew(_ cursor: inout Cursor) {
    let index = cursor.index
    if let leaf = cursor.take() { new.append(Place(leaf: leaf, start: index)) }
  }

  /// The nodes of a tree that are still to be compared, the next one at the end.
  private struct Cursor {
    private var nodes: [PackedNode]
    /// The index of the first element of the top.
    private(set) var index = 0

    init(_ root: PackedNode?) {
      nodes = root.map { [$0] } ?? []
    }

    var top: PackedNode? { nodes.last }

    /// The memory of the top without the nodes below.
    var ownMemory: Int {
      switch nodes.last {
      case .leaf(let leaf)?: leaf.memory
      case .branch(let branch)?: branch.children.reduce(branch.memory) { $0 - $1.memory }
      case nil: 0
      }
    }

    mutating func skip() { index += nodes.popLast()?.count ?? 0 }

    /// Takes a leaf, or replaces a branch by its children.
    mutating func take() -> PackedLeaf? {
      switch nodes.popLast() {
      case .leaf(let leaf)?:
        index += leaf.count
        return leaf
      case .branch(let branch)?:
        nodes.append(contentsOf: branch.children.reversed())
        return nil
      case nil: return nil
      }
    }
  }
}

extension TreeComparison {
  /// The elements of leaves, in order.
  static func elements(_ places: [Place]) -> [PackedPlace] {
    places.flatMap { place in
      (0..<place.leaf.count).map { PackedPlace(leaf: place.leaf, offset: $0, index: place.start + $0) }
    }
  }
}

/// An element of a tree, with its index in the collection.
struct PackedPlace {
  let leaf: PackedLeaf
  let offset: Int
  let index: Int

  var name: ElementKey { leaf.name(at: offset) }
  var revision: Revision { leaf.entries[offset].revision }

  func hasSameName(as other: PackedPlace) -> Bool { leaf.hasSameName(at: offset, as: other.leaf, at: other.offset) }

  func isEqual(to other: PackedPlace) -> Bool { leaf.hasElement(at: offset, equalTo: other.leaf, at: other.offset) }
}

extension PackedTree {
  /// Whether clients see the same elements.
  func hasSameElements(as other: PackedTree) -> Bool {
    guard count == other.count, bytes == other.bytes else { return false }
    let comparison = TreeComparison(self, other)
    guard comparison.shared.allSatisfy({ $0.oldStart == $0.newStart }) else { return false }
    let (old, new) = (TreeComparison.elements(comparison.old), TreeComparison.elements(comparison.new))
    return old.count == new.count && zip(old, new).allSatisfy { $0.index == $1.index && $0.isEqual(to: $1) }
  }
}
