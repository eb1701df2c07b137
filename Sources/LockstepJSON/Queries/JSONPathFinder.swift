/// Finds the values at some paths in JSON texts. It reads a text once, from its beginning to the last
/// value, and makes no value of it.
///
/// A path consists of the names of members. In an array, a name such as `0` is the index of an
/// element, as in a JSON Pointer.
///
/// It expects texts that a server has written. In any other text it may find no value or a part of
/// the text that is no value, but it reads no byte outside.
package struct JSONPathFinder: Sendable {
  /// A place in the tree of all paths.
  private struct Node {
    /// The names that follow, as indices of `children`.
    var children: Range<Int>
    /// The index of the path that ends here, or -1.
    var path: Int
  }

  private struct Child {
    /// Where the name is in `names`.
    var name: Range<Int>
    /// The name as an index, or -1.
    var index: Int
    var node: Int
  }

  private var nodes: [Node] = []
  private var children: [Child] = []
  private var names: [UInt8] = []
  /// The number of paths.
  package let count: Int

  /// - Precondition: The paths differ.
  package init(_ paths: [[String]]) {
    count = paths.count
    _ = addNode(paths.enumerated().map { ($0.offset, $0.element[...]) })
  }

  /// Adds a node and all nodes below, and returns its index. Each path has the rest of its names.
  private mutating func addNode(_ paths: [(path: Int, rest: ArraySlice<String>)]) -> Int {
    let node = nodes.count
    nodes.append(Node(children: 0..<0, path: paths.first { $0.rest.isEmpty }?.path ?? -1))
    var groups: [(name: String, paths: [(Int, ArraySlice<String>)])] = []
    for (path, rest) in paths {
      guard let name = rest.first else { continue }
      if let group = groups.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
        groups[group].paths.append((path, rest.dropFirst()))
      } else {
        groups.append((name, [(path, rest.dropFirst())]))
      }
    }
    let first = children.count
    for group in groups {
      let start = names.count
      names.append(contentsOf: group.name.utf8)
      children.append(Child(name: start..<names.count, index: JSONPointer.index(of: group.name) ?? -1, node: 0))
    }
    nodes[node].children = first..<children.count
    for (place, group) in groups.enumerated() {
      let child = addNode(group.paths)
      children[first + place].node = child
    }
    return node
  }

  /// Finds the values in a text. Sets the place of each path, which is empty if the text has no such
  /// value.
  ///
  /// - Precondition: There are as many places as paths.
  package func find(in text: UnsafeBufferPointer<UInt8>, places: UnsafeMutableBufferPointer<Range<Int>>) {
    precondition(places.count == count)
    places.update(repeating: 0..<0)
    guard let bytes = text.baseAddress, count > 0 else { return }
    // The search does not outlive this call, and all buffers are valid during it.
    nodes.withUnsafeBufferPointer { nodes in
      children.withUnsafeBufferPointer { children in
        names.withUnsafeBufferPointer { names in
          var search = Search(
            nodes: nodes,
            children: children,
            names: names,
            places: places,
            scanner: JSONTextScanner(bytes, count: text.count),
            missing: count
          )
          _ = search.visit(0)
        }
      }
    }
  }

  /// One pass over a text. It has the buffers instead of the arrays, because references would be
  /// counted for each member of the text. All indices in the buffers are those that `init` has set.
  private struct Search {
    let nodes: UnsafeBufferPointer<Node>
    let children: UnsafeBufferPointer<Child>
    let names: UnsafeBufferPointer<UInt8>
    let places: UnsafeMutableBufferPointer<Range<Int>>
    var scanner: JSONTextScanner
    var missing: Int

    /// Reads the value at the scanner's position. Returns false if nothing more must be read.
    mutating func visit(_ node: Int) -> Bool {
      let (wanted, path) = (nodes[node].children, nodes[node].path)
      scanner.skipWhitespace()
      let start = scanner.position
      guard visitChildren(wanted) else { return false }
      guard path >= 0 else { return true }
      places[path] = start..<scanner.position
      missing &-= 1
      return missing > 0
    }

    private mutating func visitChildren(_ wanted: Range<Int>) -> Bool {
      guard !wanted.isEmpty, let container = scanner.open() else { return scanner.skipValue() }
      var index = 0
      while !scanner.close(container) {
        if index > 0, !scanner.skip(Ascii.comma) { return false }
        let child: Int
        if container == .object {
          guard let name = scanner.readName() else { return false }
          child = self.child(of: wanted, named: name)
        } else {
          child = self.child(of: wanted, at: index)
        }
        guard child < 0 ? scanner.skipValue() : visit(children[child].node) else { return false }
        index &+= 1
      }
      return true
    }

    /// The child for an element of an array, or -1.
    private func child(of wanted: Range<Int>, at index: Int) -> Int {
      for child in wanted where children[child].index == index { return child }
      return -1
    }

    /// The child with a name, or -1.
    @inline(__always)
    private func child(of wanted: Range<Int>, named name: JSONTextScanner.Name) -> Int {
      if name.hasEscapes { return child(of: wanted, namedWithEscapes: name) }
      for child in wanted where scanner.has(names, children[child].name, at: name.range) { return child }
      return -1
    }

    private func child(of wanted: Range<Int>, namedWithEscapes name: JSONTextScanner.Name) -> Int {
      guard let name = scanner.unescaped(name) else { return -1 }
      for child in wanted where names[children[child].name].elementsEqual(name) { return child }
      return -1
    }
  }
}
