import LockstepJSON

/// An element of a list, as clients see it. It never changes: a change puts another one in its place.
public final class ListItem: Sendable, Equatable {
  /// Its id.
  public let id: ElementKey
  /// The JSON object, as it goes over the wire.
  public let encoded: [UInt8]
  /// The revision in which it became what it is.
  public let revision: Revision

  package init(id: ElementKey, encoded: [UInt8], revision: Revision) {
    self.id = id
    self.encoded = encoded
    self.revision = revision
  }

  /// The JSON object.
  public var object: JSONObject { JSON(trusting: encoded).objectValue ?? JSONObject() }

  /// Equal when clients see the same.
  public static func == (left: ListItem, right: ListItem) -> Bool {
    left === right || (left.id == right.id && left.encoded == right.encoded)
  }
}

/// A fact about a list. Those with elements are made by `inserting(_:at:)` and `replacing(_:)`.
public enum ListMutation: Sendable, Equatable {
  /// An element has come, written as JSON, to a place; one past the end is the end.
  case inserted(id: String, item: [UInt8], index: Int)
  /// An element has become another, written as JSON, where it was.
  case modified(id: String, item: [UInt8])
  /// An element was taken out.
  case removed(id: String)
  /// An element was moved, to this place of the list without it.
  case moved(id: String, to: Int)
  /// All elements were taken out.
  case cleared
}

/// A list whose elements have ids of their own, at one revision.
public struct ListState: Sendable, Equatable {
  /// The revision that the facts belong to which are applied now; afterwards the last one that changed the list.
  public internal(set) var revision = Revision.none
  /// The elements, in their order.
  public private(set) var items: [ListItem] = []
  private var byID: [ElementKey: ListItem] = [:]
  /// How many bytes the elements take.
  public private(set) var bytes = 0

  /// How many elements there are.
  public var count: Int { items.count }

  /// An empty list.
  public init() {}

  /// The element of an id; nil where there is none.
  public subscript(id: String) -> ListItem? { byID[ElementKey(id)] }

  /// Where an element is. Linear, and fast: elements are compared by their addresses.
  public func index(of id: String) -> Int? {
    guard let item = self[id] else { return nil }
    return items.firstIndex { $0 === item }
  }

  /// Applies a fact. Total: one that doesn't fit, as only a damaged journal could have it, does what comes nearest.
  public mutating func apply(_ mutation: ListMutation) {
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
  package init(revision: Revision) {
    self.revision = revision
  }

  /// A list of these elements, in their order, at a revision.
  package init(_ items: [ListItem], revision: Revision) {
    self.revision = revision
    self.items = items
    byID = Dictionary(items.map { ($0.id, $0) }) { first, _ in first }
    bytes = items.reduce(0) { $0 + $1.encoded.count }
  }

  /// How many elements there would be after facts, and how many bytes they would take.
  func size(after mutations: [ListMutation]) -> (count: Int, bytes: Int) {
    var (count, bytes, isCleared) = (count, bytes, false)
    // Of the elements that an earlier fact is about; nil: it took them out.
    var lengths: [ElementKey: Int?] = [:]
    func set(_ id: String, _ length: Int?) {
      let old = lengths[ElementKey(id)] ?? (isCleared ? nil : self[id]?.encoded.count)
      count += (length == nil ? 0 : 1) - (old == nil ? 0 : 1)
      bytes += (length ?? 0) - (old ?? 0)
      lengths[ElementKey(id)] = .some(length)
    }
    for mutation in mutations {
      switch mutation {
      case .inserted(let id, let item, _), .modified(let id, let item): set(id, item.count)
      case .removed(let id): set(id, nil)
      case .moved: break
      case .cleared: (count, bytes, isCleared, lengths) = (0, 0, true, [:])
      }
    }
    return (count, bytes)
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
  package init(trusting encoded: [UInt8]) {
    self = (try? JSON(parsing: encoded, limits: JSONLimits(maximumDepth: JSONLimits.highestDepth))) ?? .null
  }
}
