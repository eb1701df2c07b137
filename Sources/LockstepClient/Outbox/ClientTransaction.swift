import LockstepJSON

/// Several actions that the server applies together, or not at all. Other devices get them together too.
public struct ClientTransaction: Sendable {
  var actions: [ClientAction] = []

  /// Adds an element to a list, as `SyncedList.add` does.
  public mutating func add<Element>(_ element: Element, at index: Int? = nil, in list: SyncedList<Element>) throws {
    actions.append(try list.addition(of: element, at: index))
  }

  /// Changes members of an element, as `SyncedList.update` does.
  public mutating func update<Element>(
    _ id: Element.ID,
    with changes: some Encodable,
    in list: SyncedList<Element>
  ) throws {
    actions.append(try list.change(of: id, with: changes))
  }

  /// Removes an element from a list.
  public mutating func remove<Element>(_ id: Element.ID, in list: SyncedList<Element>) {
    actions.append(list.action("remove", ["id": .string(id)]))
  }

  /// Moves an element of a list. `index` is its index after the move.
  public mutating func move<Element>(_ id: Element.ID, to index: Int, in list: SyncedList<Element>) {
    actions.append(list.moving(id, to: index))
  }

  /// Removes the element if there is one with its id, and adds it otherwise.
  public mutating func toggle<Element>(_ element: Element, in list: SyncedList<Element>) throws {
    actions.append(try list.toggling(element))
  }

  /// Removes all elements of a list.
  public mutating func clear<Element>(_ list: SyncedList<Element>) { actions.append(list.action("clear", [:])) }

  /// Sets a value of a map.
  public mutating func set(_ key: String, _ value: some Encodable, in map: SyncedMap) throws {
    actions.append(try map.setting(key, value))
  }

  /// Removes a key of a map.
  public mutating func remove(_ key: String, in map: SyncedMap) {
    actions.append(map.action("remove", ["key": .string(key)]))
  }

  /// Adds to a number of a map.
  public mutating func increment(_ key: String, by amount: Int = 1, in map: SyncedMap) {
    actions.append(map.incrementing(key, by: amount))
  }

  /// Sets several keys of a map, as `SyncedMap.merge` does.
  public mutating func merge(_ values: some Encodable, in map: SyncedMap) throws {
    actions.append(try map.merging(values))
  }

  /// Sets members of an object, as `SyncedObject.save` does.
  public mutating func save<Value>(_ changes: some Encodable, in object: SyncedObject<Value>) throws {
    actions.append(try object.saving(changes))
  }

  /// Performs an action of any module, such as one of your own. The action is encoded as
  /// `{"type": …, "payload": …}`, as the types that `lockstep swift` prints are.
  public mutating func perform(_ action: some Encodable, in module: String) throws {
    let json = try ElementCoding.json(action)
    guard let type = json["type"]?.stringValue else {
      throw ClientFailure(.app, "\(Swift.type(of: action)) must be encoded as an object with the member \"type\".")
    }
    actions.append(ClientAction(module: module, type: type, payload: json["payload"] ?? .object(JSONObject())))
  }

  /// Performs an action of any module by its type and its payload.
  public mutating func perform(_ type: String, _ payload: JSON = [:], in module: String) {
    actions.append(ClientAction(module: module, type: type, payload: payload))
  }

  /// Performs the actions of a write from a file that was set aside.
  public mutating func perform(_ write: UnsentWrite) { actions += write.content }
}
