import JSON

/// An element of a list, as clients see it. It never changes: a change puts another one in its place.
final class ListItem: Sendable, Equatable {
  let id: ElementKey
  /// The JSON object, as it goes over the wire.
  let encoded: [UInt8]
  /// The revision in which it became what it is.
  let revision: Revision

  init(id: ElementKey, encoded: [UInt8], revision: Revision) {
    self.id = id
    self.encoded = encoded
    self.revision = revision
  }

  /// The JSON object.
  var object: JSONObject { JSON(trusting: encoded).objectValue ?? JSONObject() }

  /// Equal when clients see the same.
  static func == (left: ListItem, right: ListItem) -> Bool {
    left === right || (left.id == right.id && left.encoded == right.encoded)
  }
}

/// A fact about a list.
enum ListMutation: Sendable, Equatable {
  case inserted(id: String, item: [UInt8], index: Int)
  case modified(id: String, item: [UInt8])
  case removed(id: String)
  case moved(id: String, to: Int)
  case cleared
}

/// A list whose elements have ids of their own, at one revision.
struct ListState: Sendable, Equatable {
  /// The revision that the facts belong to which are applied now; afterwards the last one that changed the list.
  var revision = Revision.none
  private(set) var items: [ListItem] = []
  private var byID: [ElementKey: ListItem] = [:]
  /// How many bytes the elements take.
  private(set) var bytes = 0

  var count: Int { items.count }

  subscript(id: String) -> ListItem? { byID[ElementKey(id)] }

  /// Where an element is. Linear, and fast: elements are compared by their addresses.
  func index(of id: String) -> Int? {
    guard let item = self[id] else { return nil }
    return items.firstIndex { $0 === item }
  }

  /// Applies a fact. Total: one that doesn't fit, as only a damaged journal could have it, does what comes nearest.
  mutating func apply(_ mutation: ListMutation) {
    switch mutation {
    case .inserted(let id, let item, let index):
      if self[id] == nil { insert(ListItem(id: ElementKey(id), encoded: item, revision: revision), at: index) }
    case .modified(let id, let item): replace(ListItem(id: ElementKey(id), encoded: item, revision: revision))
    case .removed(let id): _ = remove(id)
    case .moved(let id, let index):
      guard let item = remove(id) else { return }
      insert(ListItem(id: item.id, encoded: item.encoded, revision: revision), at: index)
    case .cleared: self = ListState(revision: revision)
    }
  }

  /// An empty list at a revision.
  init(revision: Revision = .none) {
    self.revision = revision
  }

  /// A list of these elements, in their order, at a revision.
  init(_ items: [ListItem], revision: Revision) {
    self.revision = revision
    self.items = items
    byID = Dictionary(items.map { ($0.id, $0) }) { first, _ in first }
    bytes = items.reduce(0) { $0 + $1.encoded.count }
  }

  private mutating func insert(_ item: ListItem, at index: Int) {
    items.insert(item, at: min(max(index, 0), items.count))
    byID[item.id] = item
    bytes += item.encoded.count
  }

  private mutating func replace(_ item: ListItem) {
    guard let index = index(of: item.id.text) else { return }
    bytes += item.encoded.count - items[index].encoded.count
    items[index] = item
    byID[item.id] = item
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
  /// Reads what this process has written itself. Anything else reads as null.
  init(trusting encoded: [UInt8]) {
    self = (try? JSON(parsing: encoded, limits: JSONLimits(maximumDepth: JSONLimits.highestDepth))) ?? .null
  }
}
