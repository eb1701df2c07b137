import LockstepJSON

/// The list of one user, with elements of a Swift type.
///
/// A copy is free. Reading an element decodes it: `list["milk"]` decodes one element, and a loop
/// all elements.
public struct List<Element: ListContent>: Sendable where Element.ID == String {
  private enum Contents: Sendable {
    /// The state, and the values of members that older elements lack.
    case state(ListState, defaults: JSONObject)
    case elements([Element])
  }

  private var contents: Contents

  /// A list of these elements, for tests.
  public init(_ elements: [Element] = []) { contents = .elements(elements) }

  init(_ state: ListState, defaults: JSONObject) { contents = .state(state, defaults: defaults) }

  /// The number of elements.
  public var count: Int {
    switch contents {
    case .state(let state, _): state.count
    case .elements(let elements): elements.count
    }
  }

  /// Whether the list has no elements.
  public var isEmpty: Bool { count == 0 }

  /// The element with this id, or nil if there is none.
  public subscript(id: String) -> Element? {
    switch contents {
    case .state(let state, let defaults): state[id].flatMap { Self.decode($0, defaults) }
    case .elements(let elements): elements.first { ElementKey($0.id) == ElementKey(id) }
    }
  }

  /// The index of the element with this id, or nil if there is none.
  public func index(of id: String) -> Int? {
    switch contents {
    case .state(let state, _): state.index(of: id)
    case .elements(let elements): elements.firstIndex { ElementKey($0.id) == ElementKey(id) }
    }
  }

  fileprivate static func decode(_ item: ListItem, _ defaults: JSONObject) -> Element? {
    try? JSON(trusting: item.encoded).decoded(as: Element.self, withDefaults: defaults)
  }
}

extension List: Sequence {
  /// Visits the elements in their order.
  public func makeIterator() -> Iterator {
    switch contents {
    case .state(let state, let defaults): Iterator(items: state.items.makeIterator(), defaults: defaults)
    case .elements(let elements): Iterator(elements: elements.makeIterator())
    }
  }

  /// Visits the elements of a list.
  public struct Iterator: IteratorProtocol {
    fileprivate var items: ListItems.Iterator?
    fileprivate var elements: IndexingIterator<[Element]>?
    fileprivate var defaults = JSONObject()

    /// The next element.
    public mutating func next() -> Element? {
      if elements != nil { return elements?.next() }
      while let item = items?.next() {
        // The client leaves out an element that its version of the type cannot read. A server
        // refuses to load a list with such an element.
        if let element = List.decode(item, defaults) { return element }
      }
      return nil
    }
  }
}

extension List: Equatable {
  /// Two lists are equal if their elements are.
  public static func == (left: List, right: List) -> Bool { left.elementsEqual(right) }
}

extension List {
  /// A change of the list: what a client proposes, and what `decide` returns.
  public enum Mutation: Sendable {
    /// Inserts a new element. An index beyond the end means the end.
    case insert(Element, at: Int)
    /// Replaces the element that has the same id, at its place.
    case replace(Element)
    /// Removes an element.
    case remove(id: String)
    /// Moves an element. `to` is its index after the move.
    case move(id: String, to: Int)
    /// Removes all elements.
    case clear

    /// The element that the mutation inserts or replaces, as it will be; nil for other mutations.
    public var element: Element? {
      switch self {
      case .insert(let element, _), .replace(let element): element
      case .remove, .move, .clear: nil
      }
    }
  }

  /// Applies a mutation, for tests. A mutation that is not possible changes nothing.
  public mutating func apply(_ mutation: Mutation) {
    var elements = Array(self)
    switch mutation {
    case .insert(let element, let index):
      guard self[element.id] == nil else { return }
      elements.insert(element, at: Swift.min(Swift.max(index, 0), elements.count))
    case .replace(let element):
      guard let index = index(of: element.id) else { return }
      elements[index] = element
    case .remove(let id):
      guard let index = index(of: id) else { return }
      elements.remove(at: index)
    case .move(let id, let target):
      guard let index = index(of: id) else { return }
      let element = elements.remove(at: index)
      elements.insert(element, at: Swift.min(Swift.max(target, 0), elements.count))
    case .clear: elements = []
    }
    contents = .elements(elements)
  }
}

extension List.Mutation: Equatable {}
