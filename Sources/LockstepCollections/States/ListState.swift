import LockstepJSON

/// An element of a list.
public struct ListItem: Sendable, Identifiable {
  // The element stays in its leaf, and is copied only when it is read.
  private let leaf: PackedLeaf
  private let offset: Int

  init(_ leaf: PackedLeaf, _ offset: Int) {
    self.leaf = leaf
    self.offset = offset
  }

  package init(id: ElementKey, encoded: [UInt8], revision: Revision) {
    var leaf = PackedLeafBuilder()
    leaf.append(PackedElement(item: encoded, id: id, revision: revision))
    self.init(leaf.leaf(label: 0), 0)
  }

  /// The id.
  public var id: ElementKey { leaf.name(at: offset) }

  /// The JSON object, as sent to clients.
  public var encoded: [UInt8] { Array(text) }

  /// The revision of its last change.
  public var revision: Revision { leaf.entries[offset].revision }

  /// The JSON object.
  public var object: JSONObject { JSON(trusting: encoded).objectValue ?? JSONObject() }

  /// Whether this is the same element of the same list. Compares no text.
  package func isIdentical(to other: ListItem) -> Bool { leaf === other.leaf && offset == other.offset }

  /// The JSON object, without a copy.
  package var text: ArraySlice<UInt8> { leaf.text[leaf.range(at: offset)] }
}

extension ListItem: Equatable {
  /// Two elements are equal if clients see the same bytes.
  public static func == (left: ListItem, right: ListItem) -> Bool {
    left.leaf.hasElement(at: left.offset, equalTo: right.leaf, at: right.offset)
  }
}

/// A change of a list. Make mutations with `inserting(_:at:)` and `replacing(_:)`.
public enum ListMutation: Sendable, Equatable {
  /// An element was inserted at an index. An index beyond the end means the end.
  case inserted(id: String, item: EncodedJSON, index: Int)
  /// An element was replaced at its place.
  case modified(id: String, item: EncodedJSON)
  /// An element was removed.
  case removed(id: String)
  /// An element was moved. `to` is its index after the move.
  case moved(id: String, to: Int)
  /// All elements were removed.
  case cleared

  /// Compares the bytes of the ids and of the elements.
  public static func == (left: ListMutation, right: ListMutation) -> Bool {
    switch (left, right) {
    case (.inserted(let id, let item, let index), .inserted(let otherID, let otherItem, let otherIndex)):
      id.hasSameBytes(as: otherID) && item == otherItem && index == otherIndex
    case (.modified(let id, let item), .modified(let otherID, let otherItem)):
      id.hasSameBytes(as: otherID) && item == otherItem
    case (.removed(let id), .removed(let otherID)): id.hasSameBytes(as: otherID)
    case (.moved(let id, let index), .moved(let otherID, let otherIndex)):
      id.hasSameBytes(as: otherID) && index == otherIndex
    case (.cleared, .cleared): true
    default: false
    }
  }
}

/// A list of elements with ids, at one revision.
///
/// A copy is free. A change takes O(log n), because the changed list shares most of its memory with
/// the list before it.
public struct ListState: Sendable {
  /// The revision of the last change. While mutations are applied, it is their revision.
  public internal(set) var revision = Revision.none
  private(set) var elements = PackedList()
  /// The changes since recording began, or `nil` while nothing is recorded.
  private var edits: [ListEdit]?

  /// An empty list.
  public init() {}

  /// The elements, in their order.
  public var items: ListItems { ListItems(elements.tree) }

  /// The number of elements.
  public var count: Int { elements.tree.count }

  /// The size of the elements in bytes.
  public var bytes: Int { elements.tree.bytes }

  /// The memory in bytes.
  package var memory: Int { elements.memory }

  /// The element with this id, or `nil` if there is none.
  public subscript(id: String) -> ListItem? { place(of: id)?.item }

  /// The index of an element.
  public func index(of id: String) -> Int? { place(of: id)?.index }

  package func place(of id: String) -> (index: Int, item: ListItem)? {
    elements.place(of: ElementKey(id)).map { ($0.start + $0.offset, ListItem($0.leaf, $0.offset)) }
  }

  /// The elements whose ids begin with a prefix, in their order.
  package func items(withPrefix prefix: String) -> [ListItem] {
    var items: [ListItem] = []
    elements.tree.forEachLeaf { leaf in
      for offset in 0..<leaf.count where leaf.hasName(at: offset, withPrefix: prefix) {
        items.append(ListItem(leaf, offset))
      }
    }
    return items
  }

  /// Applies a mutation. It never fails, because a damaged journal may contain any mutation. An
  /// index that is out of range becomes the nearest valid one. A mutation that inserts an existing
  /// id, or names a missing id, is ignored.
  public mutating func apply(_ mutation: ListMutation) {
    switch mutation {
    case .inserted(let id, let item, let index):
      let id = ElementKey(id)
      guard elements.place(of: id) == nil else { return }
      let gap = insert(PackedElement(item: item.encoded, id: id, revision: revision), at: index)
      edits?.append(.inserted(id, item, gap))
    case .modified(let id, let item):
      let id = ElementKey(id)
      guard let place = elements.place(of: id) else { return }
      let element = PackedElement(item: item.encoded, id: id, revision: revision)
      elements.replace(at: place.start + place.offset, with: element)
      edits?.append(.modified(id, item))
    case .removed(let id):
      guard let index = index(of: id) else { return }
      elements.remove(at: index)
      edits?.append(.removed(ElementKey(id)))
    case .moved(let id, let index):
      let id = ElementKey(id)
      guard let place = elements.place(of: id) else { return }
      let item = ListItem(place.leaf, place.offset).encoded
      elements.remove(at: place.start + place.offset)
      let gap = insert(PackedElement(item: item, id: id, revision: revision), at: index)
      edits?.append(.moved(id, gap))
    case .cleared:
      elements = PackedList()
      if edits != nil { edits = [.cleared] }
    }
  }

  /// Calls `reduce` to change the list at a revision, and returns the edits. If `reduce` has
  /// assigned another list, the edits contain the whole list.
  package mutating func recordEdits(in revision: Revision, of reduce: (inout ListState) -> Void) -> [ListEdit] {
    self.revision = revision
    edits = []
    reduce(&self)
    if let edits {
      self.edits = nil
      self.revision = revision
      return edits
    }
    let items = items
    self = ListState([], revision: revision)
    edits = [.cleared]
    for item in items {
      let json = EncodedJSON(JSON(trusting: item.encoded), encoded: item.encoded)
      apply(.inserted(id: item.id.text, item: json, index: count))
    }
    return edits.take() ?? []
  }

  /// A list of these elements. Of two elements with the same id, only the first is kept.
  package init(_ items: some Sequence<ListItem>, revision: Revision) {
    self.revision = revision
    var (tree, ids) = (PackedTreeBuilder(.labels), Set<ElementKey>())
    for item in items where ids.insert(item.id).inserted {
      tree.append(PackedElement(item: item.encoded, id: item.id, revision: item.revision))
    }
    elements = PackedList(tree.tree())
  }

  init(_ tree: PackedTree, revision: Revision) {
    self.revision = revision
    elements = PackedList(tree)
  }

  private mutating func insert(_ element: PackedElement, at index: Int) -> ListGap {
    let index = min(max(index, 0), count)
    var before = self
    before.edits = nil
    let gap = ListGap(at: index, of: before)
    elements.insert(element, at: index)
    return gap
  }
}

extension ListState: Equatable {
  /// Two lists are equal if their revisions are equal and clients see the same elements.
  public static func == (left: ListState, right: ListState) -> Bool {
    left.revision == right.revision && left.elements.tree.hasSameElements(as: right.elements.tree)
  }
}

extension ListState {
  /// The length of the text that `appendText` appends, approximately.
  package var length: Int { elements.tree.length }

  /// Appends all elements as JSON, with commas between them.
  package func appendText(to bytes: inout [UInt8]) { elements.tree.appendText(to: &bytes) }

  /// The texts of the elements in a range, as JSON with commas between them. Each text has one or
  /// several elements. The texts of whole leaves are those in memory, without a copy.
  package func texts(in range: Range<Int>) -> [[UInt8]] {
    var texts: [[UInt8]] = []
    var index = range.lowerBound
    while index < range.upperBound, let (leaf, start) = elements.tree.leaf(at: index) {
      let (first, end) = (index - start, min(leaf.count, range.upperBound - start))
      let isWhole = end - first == leaf.count
      texts.append(
        isWhole ? leaf.text : Array(leaf.text[leaf.range(at: first).lowerBound..<leaf.range(at: end - 1).upperBound])
      )
      index = start + end
    }
    return texts
  }

  /// The memory that this version does not share with a later one, in bytes.
  package func memory(notIn later: ListState) -> Int {
    let comparison = TreeComparison(elements.tree, later.elements.tree)
    // The index has about one changed page for each changed leaf.
    return comparison.oldMemory + comparison.old.count * 1024
  }
}

/// The elements of a list, in their order. An element is found in O(log n).
public struct ListItems: RandomAccessCollection, Sendable {
  private let tree: PackedTree

  init(_ tree: PackedTree) {
    self.tree = tree
  }

  /// 0.
  public var startIndex: Int { 0 }

  /// The number of elements.
  public var endIndex: Int { tree.count }

  /// The element at an index.
  public subscript(index: Int) -> ListItem {
    guard let (leaf, start) = tree.leaf(at: index) else {
      preconditionFailure("The list has \(tree.count) elements, and none at index \(index).")
    }
    return ListItem(leaf, index - start)
  }

  /// Visits each leaf once.
  public func makeIterator() -> Iterator { Iterator(tree) }

  /// Visits the elements in their order.
  public struct Iterator: IteratorProtocol {
    private var elements: PackedTree.Elements

    fileprivate init(_ tree: PackedTree) {
      elements = PackedTree.Elements(tree, from: 0)
    }

    /// The next element.
    public mutating func next() -> ListItem? { elements.next().map { ListItem($0.leaf, $0.offset) } }
  }
}

extension JSON {
  /// Reads JSON that a server has written. Any other text becomes null.
  package init(trusting encoded: [UInt8]) {
    self = (try? JSON(parsing: encoded, maximumDepth: JSON.highestDepth)) ?? .null
  }
}
