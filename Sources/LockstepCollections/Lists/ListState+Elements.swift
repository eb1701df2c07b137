import LockstepJSON

extension ListState {
  /// The element with this id, or `nil` if there is none.
  public func element<Element: ListContent>(_ id: String, as type: Element.Type = Element.self) -> Element?
  where Element.ID == String {
    self[id].flatMap { try? JSON.object($0.object).decoded(as: type) }
  }

  /// Decodes all elements, in order. `element(_:as:)` decodes only one.
  public func elements<Element: ListContent>(as type: Element.Type = Element.self) -> [Element]
  where Element.ID == String {
    items.compactMap { try? JSON.object($0.object).decoded(as: type) }
  }
}

extension ListMutation {
  /// Inserts an element. An index beyond the end means the end.
  public static func inserting<Element: ListContent>(_ element: Element, at index: Int) -> ListMutation
  where Element.ID == String {
    .inserted(id: element.id, item: encoded(element), index: index)
  }

  /// Replaces the element that has the same id, at the same place.
  public static func replacing<Element: ListContent>(_ element: Element) -> ListMutation
  where Element.ID == String {
    .modified(id: element.id, item: encoded(element))
  }

  /// The server refuses a mutation whose element is null, as a mistake of the module.
  private static func encoded(_ element: some Encodable) -> EncodedJSON {
    EncodedJSON((try? JSON(encoding: element)) ?? .null)
  }
}
