import LockstepJSON

/// Several writes that the server applies together, or not at all. Other devices get them together too.
public struct ClientTransaction: Sendable {
  var actions: [ClientAction] = []

  /// Adds an element to a list, as `SyncedList.add` does.
  public mutating func add<Element>(_ element: Element, at index: Int? = nil, in list: SyncedList<Element>) throws {
    actions.append(try list.addition(of: element, at: index))
  }

  /// Removes an element from a list.
  public mutating func remove<Element>(_ id: Element.ID, in list: SyncedList<Element>) {
    actions.append(list.action("remove", ["id": .string(id)]))
  }

  /// Moves an element of a list. `index` is its index after the move.
  public mutating func move<Element>(_ id: Element.ID, to index: Int, in list: SyncedList<Element>) {
    actions.append(list.action("move", ["id": .string(id), "index": JSON(index)]))
  }

  /// Sets a value of a map.
  public mutating func set(_ key: String, _ value: some Encodable, in map: SyncedMap) throws {
    actions.append(map.action("set", ["key": .string(key), "value": try ElementCoding.json(value)]))
  }

  /// Removes a key of a map.
  public mutating func remove(_ key: String, in map: SyncedMap) {
    actions.append(map.action("remove", ["key": .string(key)]))
  }

  /// Performs an action of any module, such as one of your own.
  public mutating func perform(_ module: String, _ type: String, _ payload: JSON = [:]) {
    actions.append(ClientAction(module: module, type: type, payload: payload))
  }
}
