/// A part of a tree: a leaf, or a branch above leaves that are all equally deep.
enum PackedNode: Sendable {
  case leaf(PackedLeaf)
  case branch(PackedBranch)

  var count: Int {
    switch self {
    case .leaf(let leaf): leaf.count
    case .branch(let branch): branch.count
    }
  }

  /// The size of the elements that quotas count.
  var bytes: Int {
    switch self {
    case .leaf(let leaf): leaf.bytes
    case .branch(let branch): branch.bytes
    }
  }

  /// The length of the text, with a comma after each leaf.
  var length: Int {
    switch self {
    case .leaf(let leaf): leaf.text.count + 1
    case .branch(let branch): branch.length
    }
  }

  /// The memory of the node and of all below, in bytes.
  var memory: Int {
    switch self {
    case .leaf(let leaf): leaf.memory
    case .branch(let branch): branch.memory
    }
  }

  /// 0 for a leaf.
  var height: Int {
    switch self {
    case .leaf: 0
    case .branch(let branch): branch.height
    }
  }

  var first: PackedLeaf {
    switch self {
    case .leaf(let leaf): leaf
    case .branch(let branch): branch.first
    }
  }

  func isIdentical(to other: PackedNode) -> Bool {
    switch (self, other) {
    case (.leaf(let left), .leaf(let right)): left === right
    case (.branch(let left), .branch(let right)): left === right
    default: false
    }
  }

  /// This node with these leaves, at most two, in place of the leaf that contains the element at an
  /// index. The result has at most two nodes, of the same height.
  func replacingLeaf(at index: Int, with leaves: [PackedLeaf]) -> [PackedNode] {
    guard case .branch(let branch) = self else { return leaves.map(PackedNode.leaf) }
    let (place, start) = branch.child(at: index)
    let replaced = branch.children[place].replacingLeaf(at: index - start, with: leaves)
    var children = branch.children
    children.replaceSubrange(place...place, with: replaced)
    if replaced.count == 1 { Self.mergeSmallBranch(at: place, in: &children) }
    return PackedBranch.nodes(children, isAppended: place == branch.children.count - 1)
  }

  private static func mergeSmallBranch(at place: Int, in children: inout [PackedNode]) {
    guard case .branch(let small) = children[place], small.children.count < PackedBranch.minimumCount else { return }
    if !mergeWithNext(at: place - 1, in: &children) { _ = mergeWithNext(at: place, in: &children) }
  }

  /// Merges a branch with the next one if there are two, and if they are short enough together.
  /// Returns whether it has.
  private static func mergeWithNext(at place: Int, in children: inout [PackedNode]) -> Bool {
    guard place >= 0, place + 1 < children.count, case .branch(let one) = children[place],
      case .branch(let other) = children[place + 1],
      one.children.count + other.children.count <= PackedBranch.maximumCount * 3 / 4
    else { return false }
    children.replaceSubrange(place...(place + 1), with: [.branch(PackedBranch(one.children + other.children))])
    return true
  }

  func forEachLeaf(_ body: (PackedLeaf) throws -> Void) rethrows {
    switch self {
    case .leaf(let leaf): try body(leaf)
    case .branch(let branch): for child in branch.children { try child.forEachLeaf(body) }
    }
  }
}

/// A node with other nodes below it, which are all of the same height.
final class PackedBranch: Sendable {
  static let maximumCount = 32
  static let minimumCount = 8

  let children: [PackedNode]
  let count: Int
  let bytes: Int
  let length: Int
  let memory: Int
  let height: Int
  let first: PackedLeaf

  init(_ children: [PackedNode]) {
    self.children = children
    var (count, bytes, length) = (0, 0, 0)
    // The object and its array, with what `malloc` adds.
    var memory = 144 + children.count * MemoryLayout<PackedNode>.stride
    for child in children {
      count += child.count
      bytes += child.bytes
      length += child.length
      memory += child.memory
    }
    (self.count, self.bytes, self.length, self.memory) = (count, bytes, length, memory)
    height = children[0].height + 1
    first = children[0].first
  }

  /// One or two branches for these children; none if there are no children. If the last child is
  /// new, it gets a branch of its own, so that a collection that grows at its end has full branches.
  static func nodes(_ children: [PackedNode], isAppended: Bool) -> [PackedNode] {
    if children.isEmpty { return [] }
    if children.count <= maximumCount { return [.branch(PackedBranch(children))] }
    let cut = isAppended ? children.count - 1 : children.count / 2
    return [.branch(PackedBranch(Array(children[..<cut]))), .branch(PackedBranch(Array(children[cut...])))]
  }

  /// The child with the element at an index, and the index of the child's first element.
  func child(at index: Int) -> (place: Int, start: Int) {
    var start = 0
    for (place, child) in children.enumerated() {
      let count = child.count
      if index < start + count || place == children.count - 1 { return (place, start) }
      start += count
    }
    return (0, 0)
  }
}
