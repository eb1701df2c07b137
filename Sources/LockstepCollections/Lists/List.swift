import LockstepJSON

/// The list of one user, with elements of a Swift type.
///
/// A copy is free. Reading an element decodes it: `list["milk"]` decodes one element, and a loop
/// all elements.
public struct List<Element: ListContent>: Sendable where Element.ID == String {
  private var state: ListState
  /// The values of members that older elements lack.
  private let defaults: JSONObject

  /// A list of these elements, for tests.
  public init(_ elements: [Element] = []) {
    self.init(ListState(), defaults: JSONObject())
    for element in elements { state.apply(.inserting(element, at: count)) }
  }

  init(_ state: ListState, defaults: JSONObject) { (self.state, self.defaults) = (state, defaults) }

  /// The number of elements.
  public var count: Int { state.count }

  /// Whether the list has no elements.
  public var isEmpty: Bool { count == 0 }

  /// The element with this id, or nil if there is none.
  public subscript(id: String) -> Element? { state[id].flatMap { Self.decode($0, defaults) } }

  /// The index of the element with this id, or nil if there is none.
  public func index(of id: String) -> Int? { state.index(of: id) }

  fileprivate static func decode(_ item: ListItem, _ defaults: JSONObject) -> Element? {
    try? JSON(trusting: item.encoded).decoded(as: Element.self, withDefaults: defaults)
  }
}

extension List: Sequence {
  /// Visits the elements in their order.
  public func makeIterator() -> Iterator { Iterator(items: state.items.makeIterator(), defaults: defaults) }

  /// Visits the elements of a list.
  public struct Iterator: IteratorProtocol {
    fileprivate var items: ListItems.Iterator
    fileprivate let defaults: JSONObject

    /// The next element.
    public mutating func next() -> Element? {
      while let item = items.next() {
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
    switch mutation {
    case .insert(let element, let index): state.apply(.inserting(element, at: index))
    case .replace(let element): state.apply(.replacing(element))
    case .remove(let id): state.apply(.removed(id: id))
    case .move(let id, let index): state.apply(.moved(id: id, to: index))
    case .clear: state.apply(.cleared)
    }
  }
}

extension List.Mutation: Equatable {}
