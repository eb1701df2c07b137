import LockstepJSON

/// An element of a module's list, as the module's own code knows it.
///
///     struct ShoppingItem: ListElement {
///       let id: String
///       var name: String
///
///       static let format = ValueFormat<ShoppingItem>(.member("id", .text, \.id), .member("name", .text, \.name))
///
///       init?(_ object: JSONObject) {
///         guard let id = object["id"]?.stringValue, let name = object["name"]?.stringValue else { return nil }
///         (self.id, self.name) = (id, name)
///       }
///     }
///
/// What `format` writes `init` must read, for as long as any store has such elements: past states are made of them too. So
/// a member that is added later is to be an optional one, or to have a value where it isn't there.
public protocol ListElement: Identifiable, Sendable where ID == String {
  /// How it's written, which is how clients get it, and the JSON Schema of that. It has the member `id`, a string.
  static var format: ValueFormat<Self> { get }

  /// Reads what `format` writes; nil where it can't have been written by it.
  init?(_ object: JSONObject)
}

extension ListElement {
  /// The element as clients get it.
  package var json: JSON { Self.format.encode(self) }

  /// Reads an element as it went over the wire; nil where it's none.
  package init?(encoded: [UInt8]) {
    guard let object = JSON(trusting: encoded).objectValue else { return nil }
    self.init(object)
  }
}

extension ListState {
  /// The element of an id; nil where there is none.
  public func element<Element: ListElement>(_ id: String, as type: Element.Type = Element.self) -> Element? {
    self[id].flatMap { Element(encoded: $0.encoded) }
  }

  /// All elements, in their order. It reads each of them: where one is enough, ask for that.
  public func elements<Element: ListElement>(as type: Element.Type = Element.self) -> [Element] {
    items.compactMap { Element(encoded: $0.encoded) }
  }
}

extension ListMutation {
  /// The fact that an element has come to the list, at this place; one past the end is the end.
  public static func inserting(_ element: some ListElement, at index: Int) -> ListMutation {
    .inserted(id: element.id, item: EncodedJSON(element.json), index: index)
  }

  /// The fact that the element of this one's id has become this one, where it was.
  public static func replacing(_ element: some ListElement) -> ListMutation {
    .modified(id: element.id, item: EncodedJSON(element.json))
  }
}

extension MapMutation {
  /// The fact that a key has this value now.
  public static func setting(_ key: String, to value: JSON) -> MapMutation { .set(key: key, value: EncodedJSON(value)) }
}
