/// Finds the leaf of a list's element by its id: a persistent trie of the hashes of ids.
///
/// For each element it holds one word: 24 bits of the id's hash, and the label of its leaf. So the
/// index takes about 10 bytes per element, and a changed index shares most of its nodes with the
/// old one. Different ids may have the same word. The ids in the leaf tell them apart.
struct NameIndex: Sendable {
  private static let hashBits = 64 - Labels.bits

  private indirect enum Node: Sendable {
    /// Words, ascending.
    case page([UInt64])
    case branch(Children)
  }

  #if canImport(Darwin)
    private typealias Children = FourElements<Node>
  #else
    private typealias Children = InlineArray<4, Node>
  #endif

  private static let pageCount = 128

  private var root: Node
  private(set) var count: Int

  /// The index of a list's leaves.
  init(_ tree: PackedTree) {
    var words: [UInt64] = []
    words.reserveCapacity(tree.count)
    tree.forEachLeaf { leaf in
      for offset in 0..<leaf.count { words.append(Self.hash(of: leaf.name(at: offset)) | leaf.label) }
    }
    words.sort()
    root = Self.node(words[...], 0)
    count = words.count
  }

  /// The memory in bytes, approximately: pages are half to completely full.
  var memory: Int { count * 10 + 64 }

  private static func hash(of name: ElementKey) -> UInt64 {
    UInt64(truncatingIfNeeded: name.hashValue) & ~(Labels.bound - 1)
  }

  /// Calls `body` with the labels that the name's leaf may have, until it returns a value.
  func first<Value>(labelOf name: ElementKey, where body: (UInt64) -> Value?) -> Value? {
    let hash = Self.hash(of: name)
    var (node, depth) = (root, 0)
    while case .branch(let children) = node {
      node = children[Self.child(of: hash, depth)]
      depth += 1
    }
    guard case .page(let words) = node else { return nil }
    var place = Self.lowerBound(hash, words)
    while place < words.count, words[place] - hash < Labels.bound {
      if let value = body(words[place] - hash) { return value }
      place += 1
    }
    return nil
  }

  mutating func insert(_ name: ElementKey, _ label: UInt64) {
    Self.insert(Self.hash(of: name) | label, into: &root, 0)
    count += 1
  }

  mutating func remove(_ name: ElementKey, _ label: UInt64) {
    if Self.remove(Self.hash(of: name) | label, from: &root, 0) { count -= 1 }
  }

  private static func insert(_ word: UInt64, into node: inout Node, _ depth: Int) {
    switch node {
    case .page(let words):
      let place = lowerBound(word, words)
      var changed: [UInt64] = []
      changed.reserveCapacity(words.count + 1)
      changed.append(contentsOf: words[..<place])
      changed.append(word)
      changed.append(contentsOf: words[place...])
      node = Self.node(changed[...], depth)
    case .branch(var children):
      insert(word, into: &children[child(of: word, depth)], depth + 1)
      node = .branch(children)
    }
  }

  /// The node for ascending words.
  private static func node(_ words: ArraySlice<UInt64>, _ depth: Int) -> Node {
    // Pages of words with equal hashes cannot be split.
    guard words.count > pageCount, depth * 2 < hashBits else { return .page(Array(words)) }
    var children = Children(repeating: .page([]))
    var rest = words
    for child in 0..<4 {
      let end = rest.firstIndex { self.child(of: $0, depth) > child } ?? rest.endIndex
      children[child] = node(rest[..<end], depth + 1)
      rest = rest[end...]
    }
    return .branch(children)
  }

  private static func remove(_ word: UInt64, from node: inout Node, _ depth: Int) -> Bool {
    switch node {
    case .page(var words):
      let place = lowerBound(word, words)
      guard place < words.count, words[place] == word else { return false }
      words.remove(at: place)
      node = .page(words)
      return true
    case .branch(var children):
      let hasRemoved = remove(word, from: &children[child(of: word, depth)], depth + 1)
      node = merged(children) ?? .branch(children)
      return hasRemoved
    }
  }

  /// One page for four small ones.
  private static func merged(_ children: Children) -> Node? {
    var words: [UInt64] = []
    for index in 0..<4 {
      guard case .page(let part) = children[index], words.count + part.count <= pageCount / 4 else { return nil }
      words += part
    }
    return .page(words)
  }

  /// The child for a word: two bits of its hash, from the highest on.
  private static func child(of word: UInt64, _ depth: Int) -> Int { Int(word >> UInt64(62 - 2 * depth) & 3) }

  private static func lowerBound(_ word: UInt64, _ words: [UInt64]) -> Int {
    var (low, high) = (0, words.count)
    while low < high {
      let middle = (low + high) / 2
      if words[middle] < word { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A list's elements, which can be found by position and by id.
struct PackedList: Sendable {
  private(set) var tree: PackedTree
  /// Nil for a list with one leaf, which is searched.
  private var index: NameIndex?

  init(_ tree: PackedTree = PackedTree(.labels)) {
    self.tree = tree
    updateIndex(.all)
  }

  var memory: Int { tree.memory + (index?.memory ?? 0) }

  /// The leaf that contains an element, the index of the leaf's first element, and the element's
  /// offset in the leaf.
  func place(of id: ElementKey) -> (leaf: PackedLeaf, start: Int, offset: Int)? {
    guard let index else {
      guard case .leaf(let leaf)? = tree.root, let offset = leaf.offset(of: id) else { return nil }
      return (leaf, 0, offset)
    }
    return index.first(labelOf: id) { label in
      guard let (leaf, start) = tree.lastLeaf(where: { $0.label <= label }), leaf.label == label,
        let offset = leaf.offset(of: id)
      else { return nil }
      return (leaf, start, offset)
    }
  }

  mutating func insert(_ element: PackedElement, at position: Int) {
    let label = tree.leaf(at: min(position, tree.count - 1))?.leaf.label
    let change = tree.insert(element, at: position)
    if let label { index?.insert(element.name, label) }
    updateIndex(change)
  }

  mutating func replace(at position: Int, with element: PackedElement) {
    updateIndex(tree.replace(at: position, with: element))
  }

  mutating func remove(at position: Int) {
    guard let (leaf, start) = tree.leaf(at: position) else { return }
    index?.remove(leaf.name(at: position - start), leaf.label)
    updateIndex(tree.remove(at: position))
  }

  private mutating func updateIndex(_ change: PackedTree.LabelChange) {
    if tree.hasOneLeaf {
      index = nil
      return
    }
    if case .moved(let leaf, let old) = change, index != nil {
      for offset in 0..<leaf.count {
        let name = leaf.name(at: offset)
        index?.remove(name, old)
        index?.insert(name, leaf.label)
      }
      return
    }
    if case .none = change, index != nil { return }
    index = NameIndex(tree)
  }
}
