import LockstepJSON

/// The Swift type of a list's elements. `docs/own-reactor.md` has an example.
///
/// `init` must read everything that `format` has ever written, because stores and histories keep
/// old elements. So make a new member optional, or give it a default value.
public protocol ListElement: Identifiable, Sendable where ID == String {
  /// Encodes an element as clients get it, and describes it by a JSON Schema. The encoded object
  /// must have the string member `id`.
  static var format: ValueFormat<Self> { get }

  /// Reads an object that `format` has written. Returns `nil` for any other object.
  init?(_ object: JSONObject)
}

extension ListElement {
  @inlinable package var json: JSON { Self.format.encode(self) }

  package init?(encoded: [UInt8]) {
    guard let object = JSON(trusting: encoded).objectValue else { return nil }
    self.init(object)
  }
}

extension ListState {
  /// The element with this id, or `nil` if there is none.
  @inlinable
  public func element<Element: ListElement>(_ id: String, as type: Element.Type = Element.self) -> Element? {
    self[id].flatMap { Element($0.object) }
  }

  /// Decodes all elements, in order. `element(_:as:)` decodes only one.
  public func elements<Element: ListElement>(as type: Element.Type = Element.self) -> [Element] {
    items.compactMap { Element(encoded: $0.encoded) }
  }
}

extension ListMutation {
  /// Inserts an element. An index beyond the end means the end.
  @inlinable
  public static func inserting(_ element: some ListElement, at index: Int) -> ListMutation {
    .inserted(id: element.id, item: EncodedJSON(element.json), index: index)
  }

  /// Replaces the element that has the same id, at the same place.
  @inlinable
  public static func replacing(_ element: some ListElement) -> ListMutation {
    .modified(id: element.id, item: EncodedJSON(element.json))
  }
}

extension MapMutation {
  /// Sets the value of a key.
  public static func setting(_ key: String, to value: JSON) -> MapMutation { .set(key: key, value: EncodedJSON(value)) }
}
