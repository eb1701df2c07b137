import LockstepJSON

/// An element of a list. It is immutable: a change replaces it.
public final class ListItem: Sendable, Equatable {
  /// The id.
  public let id: ElementKey
  /// The JSON object, as sent to clients.
  public let encoded: [UInt8]
  /// The revision of its last change.
  public let revision: Revision

  package init(id: ElementKey, encoded: [UInt8], revision: Revision) {
    self.id = id
    self.encoded = encoded
    self.revision = revision
  }

  /// The JSON object.
  public var object: JSONObject { JSON(trusting: encoded).objectValue ?? JSONObject() }

  /// Two elements are equal if clients see the same bytes.
  public static func == (left: ListItem, right: ListItem) -> Bool {
    left === right || (left.id == right.id && left.encoded == right.encoded)
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
}

/// A list of elements with ids, at one revision.
public struct ListState: Sendable, Equatable {
  /// The revision of the last change. While mutations are applied, it is their revision.
  public internal(set) var revision = Revision.none
  /// The elements, in their order.
  public private(set) var items: [ListItem] = []
  private var byID: [ElementKey: ListItem] = [:]
  /// The size of the elements in bytes.
  public private(set) var bytes = 0
  /// The changes since recording began, or `nil` while nothing is recorded.
  private var edits: [ListEdit]?

  /// The number of elements.
  public var count: Int { items.count }

  /// An empty list.
  public init() {}

  /// The element with this id, or `nil` if there is none.
  public subscript(id: String) -> ListItem? { byID[ElementKey(id)] }

  /// The index of an element. The search is linear, but fast, because it only compares references.
  public func index(of id: String) -> Int? {
    guard let item = self[id] else { return nil }
    return items.firstIndex { $0 === item }
  }

  /// Applies a mutation. It never fails, because a damaged journal may contain any mutation. An
  /// index that is out of range becomes the nearest valid one. A mutation that inserts an existing
  /// id, or names a missing id, is ignored.
  public mutating func apply(_ mutation: ListMutation) {
    switch mutation {
    case .inserted(let id, let item, let index):
      guard self[id] == nil else { return }
      let item = (ListItem(id: ElementKey(id), encoded: item.encoded, revision: revision), item)
      let gap = insert(item.0, at: index)
      edits?.append(.inserted(item.0.id, item.1, gap))
    case .modified(let id, let item):
      guard replace(ListItem(id: ElementKey(id), encoded: item.encoded, revision: revision)) else { return }
      edits?.append(.modified(ElementKey(id), item))
    case .removed(let id):
      guard let item = remove(id) else { return }
      edits?.append(.removed(item.id))
    case .moved(let id, let index):
      guard let item = remove(id) else { return }
      let gap = insert(ListItem(id: item.id, encoded: item.encoded, revision: revision), at: index)
      edits?.append(.moved(item.id, gap))
    case .cleared:
      let isRecording = edits != nil
      self = ListState(revision: revision)
      if isRecording { edits = [.cleared] }
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
    let items = items.map { ListItem(id: $0.id, encoded: $0.encoded, revision: revision) }
    self = ListState(items, revision: revision)
    var previous: ElementKey?
    return [.cleared]
      + items.map { item in
        defer { previous = item.id }
        let json = EncodedJSON(JSON(trusting: item.encoded), encoded: item.encoded)
        return .inserted(item.id, json, ListGap(after: previous, before: nil))
      }
  }

  /// Two lists are equal if their revisions are equal and clients see the same elements.
  public static func == (left: ListState, right: ListState) -> Bool {
    left.revision == right.revision && left.items == right.items
  }

  package init(_ items: [ListItem] = [], revision: Revision) {
    self.revision = revision
    self.items = items
    byID = Dictionary(items.map { ($0.id, $0) }) { first, _ in first }
    bytes = items.reduce(0) { $0 + $1.encoded.count }
  }

  private mutating func insert(_ item: ListItem, at index: Int) -> ListGap {
    let index = min(max(index, 0), items.count)
    let gap = ListGap(
      after: index > 0 ? items[index - 1].id : nil,
      before: index < items.count ? items[index].id : nil
    )
    items.insert(item, at: index)
    byID[item.id] = item
    bytes += item.encoded.count
    return gap
  }

  private mutating func replace(_ item: ListItem) -> Bool {
    guard let index = index(of: item.id.text) else { return false }
    bytes += item.encoded.count - items[index].encoded.count
    items[index] = item
    byID[item.id] = item
    return true
  }

  private mutating func remove(_ id: String) -> ListItem? {
    guard let index = index(of: id) else { return nil }
    byID[ElementKey(id)] = nil
    let item = items.remove(at: index)
    bytes -= item.encoded.count
    return item
  }
}

extension JSON {
  /// Reads JSON that a server has written. Any other text becomes null.
  package init(trusting encoded: [UInt8]) {
    self = (try? JSON(parsing: encoded, maximumDepth: JSON.highestDepth)) ?? .null
  }
}
